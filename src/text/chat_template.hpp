// Messages and tools to the text a model was trained to continue: the checkpoint's own Jinja template, and
// the few things that are put right before it sees the messages (docs/chat-templates.md).
#pragma once

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/interpreter.hpp"
#include "text/jinja/value.hpp"

namespace redline::text {

struct ChatPrompt {
  // Each a mapping as in the OpenAI API: role, content (string, list of parts or null), reasoning_content,
  // tool_calls …
  std::vector<jinja::Value> messages;
  std::vector<jinja::Value> tools;      // empty: none
  bool add_generation_prompt = true;    // end where the assistant begins to speak
  std::optional<bool> enable_thinking;  // not given: the template's own default
  jinja::Mapping extra;                 // further variables, as vLLM's chat_template_kwargs
  std::optional<std::tm> now;           // for templates that print the date
};

class ChatTemplate {
 public:
  // From a checkpoint folder: chat_template.jinja, else `chat_template` of tokenizer_config.json (a string,
  // or a list of named ones of which "default" and "tool_use" are known), else chat_template.json. Variables
  // like eos_token come from tokenizer_config.json in any case. With `explicit_file`, that file is the
  // template. Errors name file, line and construct: BadCheckpoint, Unsupported, Io.
  static ChatTemplate load(const std::filesystem::path& folder,
                           const std::optional<std::filesystem::path>& explicit_file = {});

  // A template at hand; `name` begins its errors.
  static ChatTemplate from_source(std::string_view source, std::string name);

  // Throws BadInput: for messages that cannot be meant, with the field's path; for what the template itself
  // refuses, with its own sentence.
  std::string render(const ChatPrompt& prompt) const;

  // Whether the model thinks when nobody said whether it should. Found by rendering, not by the model's name.
  bool thinks_by_default() const;

  const std::string& name() const { return name_; }

 private:
  struct Named {
    std::string purpose;  // "default", "tool_use"
    jinja::Template body;
  };
  const jinja::Template& body_for(const ChatPrompt& prompt) const;

  std::string name_;
  std::vector<Named> bodies_;
  jinja::Mapping special_tokens_;  // bos_token, eos_token …
};

// What is done to the messages before a template sees them; ChatTemplate::render calls it.
std::vector<jinja::Value> normalize_messages(const std::vector<jinja::Value>& messages);

}  // namespace redline::text
