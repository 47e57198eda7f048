// The filters: value|name(arguments). What a template uses is looked up when it is loaded.
#pragma once

#include <string_view>

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Filter {
  std::string_view name;
  std::string_view parameters;  // their names, separated by spaces; "*" for any
  Value (*apply)(Budget& budget, const Value& value, const Arguments& arguments);
};

const Filter* find_filter(std::string_view name);  // nullptr if there is none

}  // namespace redline::text::jinja
