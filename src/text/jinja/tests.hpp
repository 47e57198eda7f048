// The tests: `value is name(arguments)`. What a template uses is looked up when it is loaded.
#pragma once

#include <string_view>

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Test {
  std::string_view name;
  int arguments;  // how many beside the value
  bool (*holds)(Budget& budget, const Value& value, const Arguments& arguments);
};

const Test* find_test(std::string_view name);  // nullptr if there is none

}  // namespace redline::text::jinja
