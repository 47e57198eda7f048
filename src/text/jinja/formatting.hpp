// Python's two ways to fill in a string: 'text %s' % value, and 'text {}'.format(value).
#pragma once

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

Value format_percent(Budget& budget, const Value& format, const Value& values);
// Fields may be {}, {0}, {name}, each with attributes, items and !s or !r; a format after a colon is not
// supported.
Value format_braces(Budget& budget, const Value& format, const Arguments& arguments);

}  // namespace redline::text::jinja
