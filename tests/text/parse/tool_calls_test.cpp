// Tool calls out of answers: the form, how models stray from it, types from schemas; each for every way to
// cut the answer into three pieces, and byte by byte.
#include "text/parse/tool_calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/jinja/json.hpp"

namespace redline::text {
namespace {

constexpr std::string_view kTools = R"([
  {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {
    "text": {"type": "string"}, "count": {"type": "integer"}, "share": {"type": "number"},
    "exact": {"type": "boolean"}, "tags": {"type": "array"}, "where": {"type": "object"},
    "maybe": {"type": ["string", "null"]}, "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "mode": {"enum": [1, "fast"]}, "free": {"description": "anything"}}}}},
  {"name": "bare", "input_schema": {"properties": {"n": {"type": "integer"}}}},
  {"type": "function", "function": {"name": "now"}}
])";

std::shared_ptr<const ToolTypes> types() {
  static const auto only = std::make_shared<const ToolTypes>(jinja::parse_json(kTools).as_list().items);
  return only;
}

// "content|name(arguments)|…"
std::string shown(const std::vector<AnswerPart>& parts) {
  std::string out;
  bool open = false;
  for (const AnswerPart& part : parts) {
    if (part.kind == AnswerPart::Kind::Arguments) {
      out += part.text;
      continue;
    }
    if (open) out += ")";
    open = part.kind == AnswerPart::Kind::CallBegin;
    out += open ? fmt::format("|{}:{}(", part.call, part.text) : "|" + part.text;
  }
  return open ? out + ")" : out;
}

void add(std::vector<AnswerPart>& all, std::vector<AnswerPart> more) {
  for (AnswerPart& part : more) {
    if (!all.empty() && all.back().kind == part.kind && part.kind != AnswerPart::Kind::CallBegin) {
      EXPECT_EQ(all.back().call, part.call);
      all.back().text += part.text;
    } else {
      all.push_back(std::move(part));
    }
  }
}

std::string parsed(const std::vector<std::string>& pieces) {
  ToolCallParser parser(types());
  std::vector<AnswerPart> all;
  for (const std::string& piece : pieces) add(all, parser.push(piece));
  add(all, parser.finish());
  return shown(all);
}

std::string call(const std::string& inside) {
  return "<tool_call>\n<function=find>\n" + inside + "</function>\n</tool_call>";
}
std::string parameter(const std::string& key, const std::string& value) {
  return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
}

struct Case {
  std::string name, text, expected;
};

std::vector<Case> cases() {
  return {
      {"no call", "Plain <b>text</b>, a < b.\n", "|Plain <b>text</b>, a < b.\n"},
      {"nothing", "", ""},
      {"one call", "Wait.\n\n" + call(parameter("text", "a b")), R"(|Wait.|0:find({"text": "a b"}))"},
      {"no parameters", "<tool_call>\n<function=now>\n</function>\n</tool_call>\n", "|0:now({})"},
      {"two calls", call(parameter("text", "a")) + "\n" + call(parameter("text", "b")) + "\n",
       R"(|0:find({"text": "a"})|1:find({"text": "b"}))"},
      {"text behind", call("") + "\n\nDone. ", "|0:find({})|Done. "},
      {"escapes", call(parameter("text", "say \"hi\\n\"\tnow\x01é생")),
       "|0:find({\"text\": \"say \\\"hi\\\\n\\\"\\tnow\\u0001é생\"})"},
      {"many lines", call(parameter("text", "one\n\n  two\n")), R"(|0:find({"text": "one\n\n  two\n"}))"},
      {"one newline each end", call(parameter("text", "\nx\n")), R"(|0:find({"text": "\nx\n"}))"},
      {"empty value", call("<parameter=text>\n</parameter>\n"), R"(|0:find({"text": ""}))"},
      {"empty value, two lines", call("<parameter=text>\n\n</parameter>"), R"(|0:find({"text": ""}))"},
      {"on one line", "<tool_call><function=find><parameter=text>x</parameter></function></tool_call>",
       R"(|0:find({"text": "x"}))"},
      {"tags inside a line stay", call(parameter("text", "a </function> b <parameter=c> </para> d")),
       R"(|0:find({"text": "a </function> b <parameter=c> </para> d"}))"},
      {"types",
       call(parameter("count", "12") + parameter("share", "-0.5e3") + parameter("exact", "True") +
            parameter("tags", "[1, \"x\"]") + parameter("where", "{\"a\": {}}")),
       R"(|0:find({"count": 12, "share": -0.5e3, "exact": true, "tags": [1, "x"], "where": {"a": {}}}))"},
      {"not of their type",
       call(parameter("count", "1.5") + parameter("share", "much") + parameter("exact", "yes") +
            parameter("tags", "[1,") + parameter("where", "[]")),
       R"(|0:find({"count": "1.5", "share": "much", "exact": "yes", "tags": "[1,", "where": "[]"}))"},
      {"no numbers of JSON", call(parameter("count", "007") + parameter("share", ".5")),
       R"(|0:find({"count": "007", "share": ".5"}))"},
      {"a long integer", call(parameter("count", "-123456789012345678901234567890")),
       R"(|0:find({"count": -123456789012345678901234567890}))"},
      {"null where it may be", call(parameter("maybe", "null") + parameter("either", "None")),
       R"(|0:find({"maybe": null, "either": null}))"},
      {"text where it may be", call(parameter("maybe", "nullify") + parameter("either", "7")),
       R"(|0:find({"maybe": "nullify", "either": 7}))"},
      {"null where it may not be", call(parameter("text", "null")), R"(|0:find({"text": "null"}))"},
      {"enum", call(parameter("mode", "1")) + call(parameter("mode", "fast")),
       R"(|0:find({"mode": 1})|1:find({"mode": "fast"}))"},
      {"no type", call(parameter("free", "{\"a\": 1}")) + call(parameter("free", "12")),
       R"(|0:find({"free": {"a": 1}})|1:find({"free": "12"}))"},
      {"unknown parameter", call(parameter("other", "12")), R"(|0:find({"other": "12"}))"},
      {"unknown function",
       "<tool_call>\n<function=else>\n" + parameter("a", "1") + "</function>\n</tool_call>",
       R"(|0:else({"a": "1"}))"},
      {"a bare tool", "<tool_call>\n<function=bare>\n" + parameter("n", "3") + "</function>\n</tool_call>",
       R"(|0:bare({"n": 3}))"},
      {"a parameter twice", call(parameter("text", "a") + parameter("text", "b") + parameter("count", "1")),
       R"(|0:find({"text": "a", "count": 1}))"},
      {"stray closing tag", call("</parameter>\n" + parameter("text", "a") + "</parameter>\n"),
       R"(|0:find({"text": "a"}))"},
      {"text between parameters",
       call("so: " + parameter("text", "a") + "and < then " + parameter("count", "1")),
       R"(|0:find({"text": "a", "count": 1}))"},
      {"parameter not closed, next one", call("<parameter=text>\na\n" + parameter("count", "1")),
       R"(|0:find({"text": "a", "count": 1}))"},
      {"parameter not closed, function closed", call("<parameter=text>\na\n"), R"(|0:find({"text": "a"}))"},
      {"only the call closed", "<tool_call>\n<function=find>\n<parameter=text>\na\n</tool_call>\nok",
       R"(|0:find({"text": "a"})|ok)"},
      {"call not closed", "<tool_call>\n<function=find>\n" + parameter("text", "a") + "</function>\n",
       R"(|0:find({"text": "a"}))"},
      {"call not closed, text", "<tool_call>\n<function=find>\n</function>\nText <b>",
       "|0:find({})|Text <b>"},
      {"call not closed, next call", "<tool_call>\n<function=find>\n" + call(parameter("text", "b")),
       R"(|0:find({})|1:find({"text": "b"}))"},
      {"two functions in one call",
       "<tool_call>\n<function=now>\n</function>\n<function=find>\n" + parameter("text", "b") +
           "</function>\n</tool_call>",
       R"(|0:now({})|1:find({"text": "b"}))"},
      {"name without >", call("<parameter=text\na\n</parameter>\n"), R"(|0:find({"text": "a"}))"},
      {"no name", call("<parameter=>\na\n</parameter>\n"), "|0:find({})"},
      {"cut off in a value", "<tool_call>\n<function=find>\n<parameter=text>\nhalf a val",
       R"(|0:find({"text": "half a val"}))"},
      {"cut off in a number", "<tool_call>\n<function=find>\n<parameter=count>\n12",
       R"(|0:find({"count": 12}))"},
      {"cut off in a tag", "<tool_call>\n<function=find>\n<parameter=text>\na\n</para",
       R"(|0:find({"text": "a\n</para"}))"},
      {"cut off in a name", "Hm \n<tool_call>\n<function=fi", "|Hm \n<tool_call>\n<function=fi"},
      {"JSON instead", "a \n<tool_call>\n{\"name\": \"find\"}\n</tool_call>",
       "|a \n<tool_call>\n{\"name\": \"find\"}\n</tool_call>"},
      {"almost a call", "<tool_cal>l <tool_call", "|<tool_cal>l <tool_call"},
      {"space at the end", "Text \n\n", "|Text \n\n"},
  };
}

TEST(ToolCalls, EveryCaseForEveryCut) {
  for (const Case& one : cases()) {
    ASSERT_EQ(parsed({one.text}), one.expected) << one.name;
    std::vector<std::string> bytes;
    for (const char c : one.text) bytes.emplace_back(1, c);
    ASSERT_EQ(parsed(bytes), one.expected) << one.name << ", byte by byte";
    for (std::size_t first = 0; first <= one.text.size(); ++first) {
      for (std::size_t second = first; second <= one.text.size(); ++second) {
        ASSERT_EQ(parsed({one.text.substr(0, first), one.text.substr(first, second - first),
                          one.text.substr(second)}),
                  one.expected)
            << one.name << ", cut at " << first << " and " << second;
      }
    }
  }
}

TEST(ToolCalls, ArgumentsAreJson) {
  for (const Case& one : cases()) {
    ToolCallParser parser(types());
    std::vector<AnswerPart> all;
    add(all, parser.push(one.text));
    add(all, parser.finish());
    for (const AnswerPart& part : all) {
      if (part.kind != AnswerPart::Kind::Arguments) continue;
      EXPECT_NO_THROW(EXPECT_TRUE(jinja::parse_json(part.text).is_mapping()))
          << one.name << ": " << part.text;
    }
  }
}

// Strings stream: nothing but what may be a tag or the last newline waits.
TEST(ToolCalls, StringsAreNotHeldBack) {
  ToolCallParser parser(types());
  parser.push("<tool_call>\n<function=find>\n<parameter=text>\n");
  EXPECT_EQ(shown(parser.push("Hello")), "Hello");
  EXPECT_EQ(shown(parser.push("\n")), "");
  EXPECT_EQ(shown(parser.push("<p")), "");
  EXPECT_EQ(shown(parser.push("re>")), "\\n<pre>");
  EXPECT_EQ(shown(parser.push("\n</parameter>")), "\"");
}

TEST(ToolCalls, ANameWithoutEndIsNotCollectedForever) {
  ToolCallParser parser(types());
  std::vector<AnswerPart> all;
  add(all, parser.push("<tool_call><function="));
  for (int i = 0; i < 1000; ++i) add(all, parser.push("xxxxxxxxxx"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, AnswerPart::Kind::Content);
  EXPECT_GT(all[0].text.size(), 9000u);
}

TEST(ToolTypes, OfSchemasThatSayNothing) {
  const ToolTypes none(
      jinja::parse_json(R"([1, "x", {"name": 3}, {"name": "a", "parameters": {"properties": []}},
      {"name": "b", "parameters": {"properties": {"p": true, "q": {"type": 5}, "r": {"anyOf": 1}}}}])")
          .as_list()
          .items);
  EXPECT_EQ(none.of("a", "p"), unsigned{ToolTypes::kString});
  const unsigned free = ToolTypes::kString | ToolTypes::kArray | ToolTypes::kObject;
  for (const char* name : {"p", "q", "r"}) EXPECT_EQ(none.of("b", name), free);
}

}  // namespace
}  // namespace redline::text
