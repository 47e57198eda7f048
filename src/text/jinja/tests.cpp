// Tests by name. Undefined counts as a sequence, iterable and callable, since Jinja's does.
#include "text/jinja/tests.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"

namespace redline::text::jinja {
namespace {

using Check = bool (*)(Budget&, const Value&, const Arguments&);

template <Kind kKind>
bool is_kind(Budget& /*budget*/, const Value& value, const Arguments& /*arguments*/) {
  return value.is(kKind);
}

template <Comparison kComparison>
bool compares(Budget& budget, const Value& value, const Arguments& arguments) {
  return compare(budget, kComparison, value, arguments.positional[0]);
}

template <bool kUpper>
bool is_cased(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  const std::string text = text_of(budget, value);
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = next_character(text, at);
    if (kUpper ? is_cased_lower(character) : is_cased_upper(character)) return false;
    any = any || (kUpper ? is_cased_upper(character) : is_cased_lower(character));
  }
  return any;
}

bool leaves(Budget& budget, const Value& value, const Value& divisor, std::int64_t rest) {
  return equal(budget, compute(budget, Operator::Modulo, value, divisor), Value::integer(rest));
}

bool is_sequence(Budget& /*budget*/, const Value& value, const Arguments& /*arguments*/) {
  return value.is_undefined() || value.is_string() || value.is_mapping() ||
         (value.is_list() && value.as_list().is_sequence());
}

bool is_number(Budget& /*budget*/, const Value& value, const Arguments& /*arguments*/) {
  return value.is(Kind::Boolean) || value.is(Kind::Integer) || value.is(Kind::BigInteger) ||
         value.is(Kind::Float);
}

constexpr Test kTests[] = {
    {"!=", 1, compares<Comparison::NotEqual>},
    {"<", 1, compares<Comparison::Less>},
    {"<=", 1, compares<Comparison::LessEqual>},
    {"==", 1, compares<Comparison::Equal>},
    {">", 1, compares<Comparison::Greater>},
    {">=", 1, compares<Comparison::GreaterEqual>},
    {"boolean", 0, is_kind<Kind::Boolean>},
    {"callable", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is(Kind::Callable) || value.is_undefined() || value.is(Kind::Loop);
     }},
    {"defined", 0, [](Budget&, const Value& value, const Arguments&) { return !value.is_undefined(); }},
    {"divisibleby", 1,
     [](Budget& budget, const Value& value, const Arguments& arguments) {
       return leaves(budget, value, arguments.positional[0], 0);
     }},
    {"eq", 1, compares<Comparison::Equal>},
    {"equalto", 1, compares<Comparison::Equal>},
    {"escaped", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is_string() && value.as_text().markup;
     }},
    {"even", 0,
     [](Budget& budget, const Value& value, const Arguments&) {
       return leaves(budget, value, Value::integer(2), 0);
     }},
    {"false", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is(Kind::Boolean) && !value.as_boolean();
     }},
    {"filter", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is_string() && find_filter(value.as_string()) != nullptr;
     }},
    {"float", 0, is_kind<Kind::Float>},
    {"ge", 1, compares<Comparison::GreaterEqual>},
    {"greaterthan", 1, compares<Comparison::Greater>},
    {"gt", 1, compares<Comparison::Greater>},
    {"in", 1, compares<Comparison::In>},
    {"integer", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is(Kind::Integer) || value.is(Kind::BigInteger);
     }},
    {"iterable", 0, [](Budget&, const Value& value, const Arguments&) { return is_iterable(value); }},
    {"le", 1, compares<Comparison::LessEqual>},
    {"lessthan", 1, compares<Comparison::Less>},
    {"lower", 0, is_cased<false>},
    {"lt", 1, compares<Comparison::Less>},
    {"mapping", 0, is_kind<Kind::Mapping>},
    {"ne", 1, compares<Comparison::NotEqual>},
    {"none", 0, is_kind<Kind::None>},
    {"number", 0, is_number},
    {"odd", 0,
     [](Budget& budget, const Value& value, const Arguments&) {
       return leaves(budget, value, Value::integer(2), 1);
     }},
    {"sameas", 1,
     [](Budget&, const Value& value, const Arguments& arguments) {
       return value.same_as(arguments.positional[0]);
     }},
    {"sequence", 0, is_sequence},
    {"string", 0, is_kind<Kind::String>},
    {"test", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is_string() && find_test(value.as_string()) != nullptr;
     }},
    {"true", 0,
     [](Budget&, const Value& value, const Arguments&) {
       return value.is(Kind::Boolean) && value.as_boolean();
     }},
    {"undefined", 0, is_kind<Kind::Undefined>},
    {"upper", 0, is_cased<true>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const Test& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : &*found;
}

}  // namespace redline::text::jinja
