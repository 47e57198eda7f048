// Messages as templates expect them: one system message in front, tool arguments as mappings, reasoning under
// one name. docs/chat-templates.md states the rules; the order of messages other than system ones never
// changes.
#include "core/error.hpp"
#include "text/chat_template.hpp"
#include "text/jinja/json.hpp"

namespace redline::text {
namespace {

using jinja::Kind;
using jinja::Mapping;
using jinja::Value;

Value text_part(std::string text) {
  Mapping part;
  part.set("type", Value::string("text"));
  part.set("text", Value::string(std::move(text)));
  return Value::mapping(std::move(part));
}

bool is_empty(const Value& content) {
  return content.is_undefined() || content.is_none() ||
         (content.is_string() && content.as_string().empty()) ||
         (content.is_list() && content.as_list().items.empty());
}

// Two contents with a blank line between them. Parts stay parts, so that a template still sees what they are.
Value joined(const Value& first, const Value& second) {
  if (is_empty(first)) return second;
  if (is_empty(second)) return first;
  if (first.is_string() && second.is_string())
    return Value::string(first.as_string() + "\n\n" + second.as_string());
  std::vector<Value> parts;
  const auto add = [&](const Value& content) {
    if (content.is_list()) {
      const auto& items = content.as_list().items;
      parts.insert(parts.end(), items.begin(), items.end());
    } else {
      parts.push_back(content.is_string() ? text_part(content.as_string()) : content);
    }
  };
  add(first);
  parts.push_back(text_part("\n\n"));
  add(second);
  return Value::list(std::move(parts));
}

Value parsed_arguments(const Value& arguments, const std::string& path) {
  if (arguments.is_none() || arguments.is_undefined()) return Value::mapping({});
  if (arguments.is_mapping()) return arguments;
  ensure(arguments.is_string(), ErrorKind::BadInput,
         "{}: expected a JSON object or its text, found a value of type {}", path,
         jinja::type_name(arguments));
  // Clients write a call without arguments as an empty string.
  if (arguments.as_string().find_first_not_of(" \t\r\n") == std::string::npos) return Value::mapping({});
  Value parsed;
  try {
    parsed = jinja::parse_json(arguments.as_string());
  } catch (const Error& error) {
    fail(ErrorKind::BadInput, "{}: {}", path, error.what());
  }
  ensure(parsed.is_mapping(), ErrorKind::BadInput, "{}: expected a JSON object, found a value of type {}",
         path, jinja::type_name(parsed));
  return parsed;
}

Value with_parsed_arguments(const Value& call, const std::string& path) {
  ensure(call.is_mapping(), ErrorKind::BadInput, "{}: expected an object, found a value of type {}", path,
         jinja::type_name(call));
  Mapping out = call.as_mapping();
  if (const Value* function = out.find("function"); function != nullptr) {
    ensure(function->is_mapping(), ErrorKind::BadInput,
           "{}.function: expected an object, found a value of type {}", path, jinja::type_name(*function));
    Mapping inner = function->as_mapping();
    if (const Value* arguments = inner.find("arguments")) {
      inner.set("arguments", parsed_arguments(*arguments, path + ".function.arguments"));
      out.set("function", Value::mapping(std::move(inner)));
    }
  } else if (const Value* arguments = out.find("arguments")) {
    out.set("arguments", parsed_arguments(*arguments, path + ".arguments"));
  }
  return Value::mapping(std::move(out));
}

Mapping cleaned(const Value& message, const std::string& path) {
  ensure(message.is_mapping(), ErrorKind::BadInput, "{}: expected an object, found a value of type {}", path,
         jinja::type_name(message));
  // null means "not there": templates test for the key, and would print None.
  Mapping out;
  for (const auto& [key, value] : message.as_mapping().entries()) {
    if (!value.is_none()) out.set(key, value);
  }
  const Value* role = out.find("role");
  ensure(role != nullptr && role->is_string(), ErrorKind::BadInput, "{}.role: expected a string", path);
  if (const Value* reasoning = out.find("reasoning");
      reasoning != nullptr && out.find("reasoning_content") == nullptr) {
    out.set("reasoning_content", Value(*reasoning));
  }
  if (const Value* calls = out.find("tool_calls"); calls != nullptr && calls->is_list()) {
    std::vector<Value> parsed;
    for (std::size_t i = 0; i < calls->as_list().items.size(); ++i) {
      parsed.push_back(
          with_parsed_arguments(calls->as_list().items[i], path + ".tool_calls[" + std::to_string(i) + "]"));
    }
    out.set("tool_calls", Value::list(std::move(parsed)));
  }
  return out;
}

}  // namespace

std::vector<Value> normalize_messages(const std::vector<Value>& messages) {
  std::optional<Mapping> system;
  std::vector<Value> others;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Mapping message = cleaned(messages[i], "messages[" + std::to_string(i) + "]");
    const std::string& role = message.find("role")->as_string();
    if (role != "system" && role != "developer") {
      others.push_back(Value::mapping(std::move(message)));
      continue;
    }
    if (!system) {
      message.set("role", Value::string("system"));
      system = std::move(message);
      continue;
    }
    const Value* before = system->find("content");
    const Value* more = message.find("content");
    if (more != nullptr) system->set("content", before == nullptr ? *more : joined(*before, *more));
  }
  std::vector<Value> out;
  if (system) out.push_back(Value::mapping(*std::move(system)));
  out.insert(out.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return out;
}

}  // namespace redline::text
