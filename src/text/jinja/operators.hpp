// What operators and lookups do to values: Python's rules, with integers of 64 bits (beyond them: an error,
// never a wrong number). All of them throw BadInput with a sentence; the interpreter adds template and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

bool is_true(const Value& value);
std::optional<std::int64_t> whole_number(const Value& value);  // an integer or boolean
std::optional<double> real_number(const Value& value);         // any number, as a double
[[noreturn]] void fail_undefined(const Value& value);
void refuse_undefined(const Value& value);  // most things one may not do with undefined

enum class Operator : std::uint8_t { Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power };
Value compute(Budget& budget, Operator operation, const Value& left, const Value& right);
Value negate(const Value& value);
Value plus(const Value& value);

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn };
bool compare(Budget& budget, Comparison comparison, const Value& left, const Value& right);
bool equal(Budget& budget, const Value& left, const Value& right);
bool less(Budget& budget, const Value& left, const Value& right);
bool contains(Budget& budget, const Value& container, const Value& item);

std::vector<Value> items_of(Budget& budget,
                            const Value& value);  // what a for loop would walk; ends an iterator
bool is_iterable(const Value& value);
std::int64_t length_of(const Value& value);
Value attribute_of(const Value& object, std::string_view name);  // object.name
Value item_of(const Value& object, const Value& key);            // object[key]
struct Slice {
  std::optional<std::int64_t> start, stop, step;
};
Value slice_of(Budget& budget, const Value& object, const Slice& slice);

// Text of a value as {{ }} prints it, paid from the budget.
std::string text_of(Budget& budget, const Value& value);
Value make_string(Budget& budget, std::string text, bool markup = false);
std::string as_markup(Budget& budget, const Value& value);  // escaped, unless it is marked safe already

}  // namespace redline::text::jinja
