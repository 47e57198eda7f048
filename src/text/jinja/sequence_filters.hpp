// Filters that walk over sequences; filters.cpp lists them by name.
#pragma once

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

Value as_list(Budget& budget, const Value& value, const Arguments& arguments);
Value first_item(Budget& budget, const Value& value, const Arguments& arguments);
Value join_items(Budget& budget, const Value& value, const Arguments& arguments);
Value largest(Budget& budget, const Value& value, const Arguments& arguments);
Value last_item(Budget& budget, const Value& value, const Arguments& arguments);
Value map_items(Budget& budget, const Value& value, const Arguments& arguments);
Value mapping_items(Budget& budget, const Value& value, const Arguments& arguments);
Value reject_by_attribute(Budget& budget, const Value& value, const Arguments& arguments);
Value reject_items(Budget& budget, const Value& value, const Arguments& arguments);
Value reverse_items(Budget& budget, const Value& value, const Arguments& arguments);
Value select_by_attribute(Budget& budget, const Value& value, const Arguments& arguments);
Value select_items(Budget& budget, const Value& value, const Arguments& arguments);
Value smallest(Budget& budget, const Value& value, const Arguments& arguments);
Value sort_items(Budget& budget, const Value& value, const Arguments& arguments);
Value sort_mapping(Budget& budget, const Value& value, const Arguments& arguments);
Value sum_items(Budget& budget, const Value& value, const Arguments& arguments);
Value unique_items(Budget& budget, const Value& value, const Arguments& arguments);

}  // namespace redline::text::jinja
