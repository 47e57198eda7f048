// How values look as text: Python's str() and repr(), and the JSON of |tojson as Python's json.dumps writes
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "text/jinja/value.hpp"

namespace redline::text::jinja {

std::string print_float(double value);   // repr(float): the shortest digits that read back as the same number
std::string whole_digits(double value);  // int(): every digit of a whole finite number

// Both end with BadInput once more than `most_bytes` have been written: shared lists make huge texts from few
// values.
std::string print(const Value& value, std::size_t most_bytes);      // str()
std::string represent(const Value& value, std::size_t most_bytes);  // repr()

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // what one level is indented by
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};
std::string dump_json(const Value& value, const JsonStyle& style, std::size_t most_bytes);

}  // namespace redline::text::jinja
