// What a conversation is made of. Messages are template values, so that nothing of a request is lost on its
// way to the template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/jinja/value.hpp"

namespace redline::chat {

struct ChatRequest {
  std::vector<text::jinja::Value> messages;  // mappings: role, content …
  std::vector<text::jinja::Value> tools;
  std::optional<bool> enable_thinking;      // not given: the template's own default
  text::jinja::Mapping template_variables;  // chat_template_kwargs
  std::vector<std::string> stop;
};

// A piece of an answer as it streams.
struct Delta {
  std::string reasoning, content;
  bool empty() const { return reasoning.empty() && content.empty(); }
};

text::jinja::Value message(std::string role, std::string content);

}  // namespace redline::chat
