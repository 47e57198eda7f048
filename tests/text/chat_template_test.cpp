// Finding a checkpoint's template, what is done to messages before it sees them, and the sentences for what
// cannot be meant. Whole chats are compared with jinja2 in chat_template_reference_test.py.
#include "text/chat_template.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"
#include "text/jinja/json.hpp"

namespace redline::text {
namespace {

using jinja::parse_json;
using jinja::Value;

std::vector<Value> messages_of(std::string_view json) { return parse_json(json).as_list().items; }

// What a template sees, as JSON.
std::string seen(std::string_view messages) {
  ChatPrompt prompt;
  prompt.messages = messages_of(messages);
  return ChatTemplate::from_source("{{ messages|tojson }}", "t").render(prompt);
}

template <class Action>
std::string failure(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.kind()), name_of(kind)) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

std::string refusal(std::string_view messages) {
  return failure(ErrorKind::BadInput, [&] { seen(messages); });
}

void write(const std::filesystem::path& file, std::string_view text) { std::ofstream(file) << text; }

TEST(ChatMessages, SystemMessagesBecomeOneInFront) {
  EXPECT_EQ(seen(R"([{"role": "user", "content": "hi"}, {"role": "system", "content": "a"},
                     {"role": "assistant", "content": "yo"}, {"role": "system", "content": "b"}])"),
            R"([{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "hi"}, )"
            R"({"role": "assistant", "content": "yo"}])");
  EXPECT_EQ(
      seen(
          R"([{"role": "developer", "content": "a", "name": "x"}, {"role": "system", "content": "b", "name": "y"}])"),
      R"([{"role": "system", "content": "a\n\nb", "name": "x"}])");
  EXPECT_EQ(seen(R"([{"role": "system", "content": ""}, {"role": "developer", "content": "b"}])"),
            R"([{"role": "system", "content": "b"}])");
  EXPECT_EQ(seen(R"([{"role": "system"}, {"role": "system", "content": "b"}])"),
            R"([{"role": "system", "content": "b"}])");
  EXPECT_EQ(seen(R"([{"role": "system", "content": "a"}, {"role": "system", "content": []}])"),
            R"([{"role": "system", "content": "a"}])");
  EXPECT_EQ(
      seen(R"([{"role": "system", "content": [{"type": "image"}]}, {"role": "system", "content": "b"}])"),
      R"([{"role": "system", "content": [{"type": "image"}, {"type": "text", "text": "\n\n"}, )"
      R"({"type": "text", "text": "b"}]}])");
}

TEST(ChatMessages, ArgumentsBecomeMappings) {
  const auto arguments = [](const std::string& written) {
    return seen(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": )" +
                written + "}}]}]");
  };
  const auto expected = [](const std::string& mapping) {
    return R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": )" + mapping +
           "}}]}]";
  };
  EXPECT_EQ(arguments(R"({"b": 1, "a": [null]})"), expected(R"({"b": 1, "a": [null]})"));
  EXPECT_EQ(arguments(R"("{\"b\": 1, \"a\": [null]}")"), expected(R"({"b": 1, "a": [null]})"));
  EXPECT_EQ(arguments(R"("")"), expected("{}"));
  EXPECT_EQ(arguments(R"(" \n")"), expected("{}"));
  EXPECT_EQ(arguments("null"), expected("{}"));
  EXPECT_EQ(
      seen(
          R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{\"x\": 1}"}, {"name": "g"}]}])"),
      R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"x": 1}}, {"name": "g"}]}])");
}

TEST(ChatMessages, NullIsNotThereAndReasoningHasOneName) {
  EXPECT_EQ(seen(R"([{"role": "user", "content": null, "name": null}])"), R"([{"role": "user"}])");
  EXPECT_EQ(seen(R"([{"role": "assistant", "content": "4", "reasoning": "2+2"}])"),
            R"([{"role": "assistant", "content": "4", "reasoning": "2+2", "reasoning_content": "2+2"}])");
  EXPECT_EQ(seen(R"([{"role": "assistant", "reasoning": "a", "reasoning_content": "b"}])"),
            R"([{"role": "assistant", "reasoning": "a", "reasoning_content": "b"}])");
}

TEST(ChatMessages, WhatCannotBeMeantIsNamedByItsPath) {
  EXPECT_EQ(refusal(R"(["x"])"), "messages[0]: expected an object, found a value of type str");
  EXPECT_EQ(refusal(R"([{"role": "user"}, {"content": "x"}])"), "messages[1].role: expected a string");
  EXPECT_EQ(refusal(R"([{"role": 1}])"), "messages[0].role: expected a string");
  EXPECT_EQ(refusal(R"([{"role": "assistant", "tool_calls": ["f"]}])"),
            "messages[0].tool_calls[0]: expected an object, found a value of type str");
  EXPECT_EQ(refusal(R"([{"role": "assistant", "tool_calls": [{"function": "f"}]}])"),
            "messages[0].tool_calls[0].function: expected an object, found a value of type str");
  EXPECT_EQ(refusal(R"([{"role": "assistant", "tool_calls": [{}, {"function": {"arguments": 3}}]}])"),
            "messages[0].tool_calls[1].function.arguments: expected a JSON object or its text, found a value "
            "of type int");
  EXPECT_EQ(
      refusal(R"([{"role": "assistant", "tool_calls": [{"function": {"arguments": "[1]"}}]}])"),
      "messages[0].tool_calls[0].function.arguments: expected a JSON object, found a value of type list");
  const std::string no_json = refusal(R"([{"role": "assistant", "tool_calls": [{"arguments": "{x: 1}"}]}])");
  EXPECT_TRUE(no_json.starts_with("messages[0].tool_calls[0].arguments: not valid JSON at byte 2: "))
      << no_json;
}

TEST(ChatTemplate, GivesTheVariablesThatTemplatesExpect) {
  const ChatTemplate chat = ChatTemplate::from_source(
      "{{ [tools, documents, add_generation_prompt, enable_thinking is defined, x is defined]|tojson }}",
      "t");
  ChatPrompt prompt;
  EXPECT_EQ(chat.render(prompt), "[null, null, true, false, false]");
  prompt.tools = messages_of(R"([{"name": "f"}])");
  prompt.add_generation_prompt = false;
  prompt.enable_thinking = false;
  prompt.extra.set("x", Value::integer(1));
  prompt.extra.set("documents", Value::list({}));
  // What is a field of its own is not overridden by an extra of the same name.
  prompt.extra.set("add_generation_prompt", Value::boolean(true));
  prompt.extra.set("messages", Value::none());
  EXPECT_EQ(chat.render(prompt), R"([[{"name": "f"}], [], false, true, true])");
}

TEST(ChatTemplate, TheTemplatesOwnRefusalIsItsSentence) {
  const ChatTemplate chat = ChatTemplate::from_source(
      "{% if not messages %}{{ raise_exception('No messages provided.') }}{% endif %}", "t");
  EXPECT_EQ(failure(ErrorKind::BadInput, [&] { chat.render({}); }), "No messages provided.");
}

TEST(ChatTemplate, FindsItsFileInOrder) {
  const test::TemporaryFolder folder;
  const auto config = folder.path() / "tokenizer_config.json";
  const auto prompt_of = [&] { return ChatTemplate::load(folder.path()).render({}); };
  EXPECT_EQ(
      failure(ErrorKind::BadCheckpoint, [&] { prompt_of(); }),
      folder.path().string() +
          ": no chat template: neither chat_template.jinja, nor a field 'chat_template' in "
          "tokenizer_config.json, nor chat_template.json; name a template file to chat with this checkpoint");
  write(folder.path() / "chat_template.json", R"({"chat_template": "from chat_template.json"})");
  EXPECT_EQ(prompt_of(), "from chat_template.json");
  write(config, R"({"chat_template": null, "eos_token": "<e>"})");
  EXPECT_EQ(prompt_of(), "from chat_template.json");
  write(
      config,
      R"({"chat_template": "{{ eos_token }}{{ bos_token }}", "eos_token": "<e>", "bos_token": {"content": "<b>"}})");
  EXPECT_EQ(prompt_of(), "<e><b>");
  write(folder.path() / "chat_template.jinja", "file {{ eos_token }}");
  EXPECT_EQ(prompt_of(), "file <e>");
  write(folder.path() / "mine.jinja", "mine {{ eos_token }}");
  EXPECT_EQ(ChatTemplate::load(folder.path(), folder.path() / "mine.jinja").render({}), "mine <e>");
  EXPECT_EQ(failure(ErrorKind::Io, [&] { ChatTemplate::load(folder.path(), folder.path() / "none.jinja"); }),
            (folder.path() / "none.jinja").string() + ": cannot be read");
}

TEST(ChatTemplate, NamedTemplates) {
  const test::TemporaryFolder folder;
  const auto config = folder.path() / "tokenizer_config.json";
  const std::string where = config.string() + ": chat_template";
  write(
      config,
      R"({"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"},
                    {"name": "rag", "template": "{% unknown %}"}]})");
  const ChatTemplate chat = ChatTemplate::load(folder.path());
  ChatPrompt prompt;
  EXPECT_EQ(chat.render(prompt), "plain");
  prompt.tools = {Value::mapping({})};
  EXPECT_EQ(chat.render(prompt), "tools");
  const auto load_failure = [&](std::string_view text) {
    write(config, text);
    return failure(ErrorKind::BadCheckpoint, [&] { ChatTemplate::load(folder.path()); });
  };
  EXPECT_EQ(load_failure(R"({"chat_template": [{"name": "tool_use", "template": "x"}]})"),
            where + ": no template is named 'default'");
  EXPECT_EQ(load_failure(R"({"chat_template": [{"name": "default"}]})"),
            where + "[0]: expected an object with the strings 'name' and 'template'");
  EXPECT_EQ(load_failure(R"({"chat_template": 7})"),
            where + ": expected a string or a list, found a value of type int");
  EXPECT_EQ(load_failure(R"({"chat_template": "\n{% nope %}"})"),
            where + ", line 2: unknown statement 'nope'");
  EXPECT_EQ(load_failure("[]"), config.string() + ": expected a JSON object, found a value of type list");
  EXPECT_TRUE(load_failure("{").starts_with(config.string() + ": not valid JSON at byte "))
      << load_failure("{");
}

TEST(ChatTemplate, KnowsWhetherItThinks) {
  const auto thinks = [](std::string_view source) {
    return ChatTemplate::from_source(source, "t").thinks_by_default();
  };
  EXPECT_TRUE(
      thinks("{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}"));
  EXPECT_FALSE(thinks("{% if enable_thinking is defined and enable_thinking %}<think>{% endif %}"));
  EXPECT_TRUE(thinks("{% if enable_thinking|default(true) %}<think>{% endif %}"));
  EXPECT_TRUE(thinks("<|assistant|><think>\n"));             // no switch, always thinks
  EXPECT_FALSE(thinks("<|assistant|><think>\n</think>\n"));  // no switch, never
  EXPECT_FALSE(thinks("<|assistant|>"));
  EXPECT_FALSE(thinks("{% if enable_thinking %}{{ raise_exception('cannot') }}{% endif %}x"));
  EXPECT_TRUE(thinks("{% if enable_thinking is false %}{{ raise_exception('must') }}{% endif %}<think>"));
}

}  // namespace
}  // namespace redline::text
