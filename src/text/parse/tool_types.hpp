// Which JSON type each parameter of each tool takes, and a parameter's text as JSON of that type. Models
// write parameters as bare text (specs of the family's XML form); the tool's schema says what is meant.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.hpp"

namespace redline::text {

class ToolTypes {
 public:
  // Sets of these.
  enum Type : std::uint8_t {
    kString = 1,
    kInteger = 2,
    kNumber = 4,
    kBoolean = 8,
    kNull = 16,
    kArray = 32,
    kObject = 64
  };

  ToolTypes() = default;
  // Tools as the API has them ({"type": "function", "function": {"name", "parameters": schema}}) or bare
  // ({"name", "parameters"}). What is no schema is taken as saying nothing.
  explicit ToolTypes(const std::vector<jinja::Value>& tools);

  // The types that the schema names (type, anyOf, oneOf, enum, const). A schema that names none may mean
  // anything that cannot be mistaken for text: string, array, object. So may an unknown parameter: string.
  unsigned of(std::string_view function, std::string_view parameter) const;

 private:
  std::map<std::string, std::map<std::string, unsigned, std::less<>>, std::less<>> functions_;
};

// `text` as JSON of one of `types`: null, then boolean, integer, number, array, object where they are allowed
// and the text is one (Python's True, False and None included); otherwise a string.
std::string json_of_parameter(std::string_view text, unsigned types);

// The inside of a JSON string; bytes from 0x80 on pass through.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace redline::text
