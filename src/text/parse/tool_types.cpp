// Types out of JSON schemas, and values out of texts.
#include "text/parse/tool_types.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/json.hpp"

namespace redline::text {
namespace {

using jinja::Mapping;
using jinja::Value;

constexpr int kDeepestUnion = 16;

const Value* field(const Value& value, std::string_view name) {
  return value.is_mapping() ? value.as_mapping().find(name) : nullptr;
}

unsigned type_named(std::string_view name) {
  if (name == "string") return ToolTypes::kString;
  if (name == "integer") return ToolTypes::kInteger;
  if (name == "number") return ToolTypes::kNumber | ToolTypes::kInteger;
  if (name == "boolean") return ToolTypes::kBoolean;
  if (name == "null") return ToolTypes::kNull;
  if (name == "array") return ToolTypes::kArray;
  if (name == "object") return ToolTypes::kObject;
  return 0;
}

unsigned type_of(const Value& value) {
  switch (value.kind()) {
    case jinja::Kind::None:
      return ToolTypes::kNull;
    case jinja::Kind::Boolean:
      return ToolTypes::kBoolean;
    case jinja::Kind::Integer:
    case jinja::Kind::BigInteger:
      return ToolTypes::kInteger;
    case jinja::Kind::Float:
      return ToolTypes::kNumber | ToolTypes::kInteger;
    case jinja::Kind::List:
      return ToolTypes::kArray;
    case jinja::Kind::Mapping:
      return ToolTypes::kObject;
    default:
      return ToolTypes::kString;
  }
}

unsigned types_in(const Value& schema, int depth) {
  unsigned types = 0;
  if (const Value* type = field(schema, "type")) {
    if (type->is_string()) types |= type_named(type->as_string());
    if (type->is_list()) {
      for (const Value& one : type->as_list().items) {
        if (one.is_string()) types |= type_named(one.as_string());
      }
    }
  }
  if (types != 0) return types;
  if (const Value* values = field(schema, "enum"); values != nullptr && values->is_list()) {
    for (const Value& one : values->as_list().items) types |= type_of(one);
  }
  if (const Value* value = field(schema, "const")) types |= type_of(*value);
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    const Value* choices = field(schema, name);
    if (choices == nullptr || !choices->is_list() || depth >= kDeepestUnion) continue;
    for (const Value& one : choices->as_list().items) types |= types_in(one, depth + 1);
  }
  return types != 0 ? types : ToolTypes::kString | ToolTypes::kArray | ToolTypes::kObject;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// -?(0|[1-9][0-9]*): what JSON calls an integer, of any length.
bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return all_digits(text) && (text.size() == 1 || text[0] != '0');
}

// An integer and, optionally, a fraction and an exponent.
bool is_number(std::string_view text) {
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    if (!all_digits(exponent)) return false;
    text = text.substr(0, e);
  }
  const std::size_t dot = text.find('.');
  return is_integer(text.substr(0, dot)) &&
         (dot == std::string_view::npos || all_digits(text.substr(dot + 1)));
}

bool is_json(std::string_view text) {
  try {
    jinja::parse_json(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ToolTypes::ToolTypes(const std::vector<Value>& tools) {
  for (const Value& tool : tools) {
    const Value* function = field(tool, "function");
    if (function == nullptr) function = &tool;
    const Value* name = field(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    auto& parameters = functions_[name->as_string()];
    const Value* schema = field(*function, "parameters");
    if (schema == nullptr) schema = field(*function, "input_schema");
    const Value* properties = schema != nullptr ? field(*schema, "properties") : nullptr;
    if (properties == nullptr || !properties->is_mapping()) continue;
    for (const auto& [key, one] : properties->as_mapping().entries()) {
      if (key.is_string()) parameters[key.as_string()] = types_in(one, 0);
    }
  }
}

unsigned ToolTypes::of(std::string_view function, std::string_view parameter) const {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return kString;
  const auto types = found->second.find(parameter);
  return types == found->second.end() ? unsigned{kString} : types->second;
}

std::string json_of_parameter(std::string_view text, unsigned types) {
  const std::string_view word = trimmed(text);
  if ((types & ToolTypes::kNull) != 0 && (word == "null" || word == "None")) return "null";
  if ((types & ToolTypes::kBoolean) != 0) {
    if (word == "true" || word == "True") return "true";
    if (word == "false" || word == "False") return "false";
  }
  if ((types & ToolTypes::kInteger) != 0 && is_integer(word)) return std::string(word);
  if ((types & ToolTypes::kNumber) != 0 && is_number(word)) return std::string(word);
  if ((types & ToolTypes::kArray) != 0 && word.starts_with('[') && is_json(word)) return std::string(word);
  if ((types & ToolTypes::kObject) != 0 && word.starts_with('{') && is_json(word)) return std::string(word);
  std::string out = "\"";
  append_json_escaped(out, text);
  return out + '"';
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
}

}  // namespace redline::text
