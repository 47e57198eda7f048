// The methods of strings, lists and mappings that templates may call. Those that would change their object
// are known and refused, as in the sandbox that templates are written for.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

enum class MethodState : std::uint8_t { Unknown, Known, Forbidden };
MethodState method_of(const Value& object, std::string_view name);
bool is_method_name(
    std::string_view name);  // of any type, forbidden ones included; asked when a template is loaded

Value call_method(Budget& budget, const Value& object, std::string_view name, const Arguments& arguments);

}  // namespace redline::text::jinja
