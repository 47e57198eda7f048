// The functions that every template may call: range, dict, namespace, raise_exception, strftime_now.
#pragma once

#include <ctime>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

bool is_function(std::string_view name);

struct FunctionContext {
  Budget& budget;
  const std::optional<std::tm>& now;  // what strftime_now prints
  bool& raised;                       // set when the error is the template's own sentence
};
Value call_function(FunctionContext context, std::string_view name, const Arguments& arguments);

}  // namespace redline::text::jinja
