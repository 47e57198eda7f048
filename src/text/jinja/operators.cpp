// Arithmetic, comparison, membership. Lookups are in lookup.cpp, string formatting with % in formatting.cpp.
#include "text/jinja/operators.hpp"

#include <cmath>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/formatting.hpp"
#include "text/jinja/printing.hpp"

namespace redline::text::jinja {
namespace {

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void wrong_types(std::string_view sign, const Value& left, const Value& right) {
  fail(ErrorKind::BadInput, "unsupported operand types for {}: '{}' and '{}'", sign, type_name(left),
       type_name(right));
}

[[noreturn]] void too_large() { fail(ErrorKind::BadInput, "an integer does not fit 64 bits"); }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  ensure(b != 0, ErrorKind::BadInput, "division by zero");
  if (a == INT64_MIN && b == -1) too_large();
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && ((a < 0) != (b < 0))) ? 1 : 0);
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  ensure(b != 0, ErrorKind::BadInput, "division by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest + ((rest != 0 && ((rest < 0) != (b < 0))) ? b : 0);
}

Value power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    ensure(base != 0, ErrorKind::BadInput, "0 cannot be raised to a negative power");
    return Value::number(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  if (base == 0 || base == 1) return Value::integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::integer(exponent % 2 == 0 ? 1 : -1);
  for (std::int64_t i = 0; i < exponent; ++i) {  // at most 63 rounds before it no longer fits
    if (__builtin_mul_overflow(result, base, &result)) too_large();
  }
  return Value::integer(result);
}

Value compute_integers(Operator operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (operation) {
    case Operator::Add:
      if (__builtin_add_overflow(a, b, &result)) too_large();
      return Value::integer(result);
    case Operator::Subtract:
      if (__builtin_sub_overflow(a, b, &result)) too_large();
      return Value::integer(result);
    case Operator::Multiply:
      if (__builtin_mul_overflow(a, b, &result)) too_large();
      return Value::integer(result);
    case Operator::Divide:
      ensure(b != 0, ErrorKind::BadInput, "division by zero");
      // 64 bits of mantissa hold both exactly, so the quotient is rounded as Python rounds it in all but rare
      // ties.
      return Value::number(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case Operator::FloorDivide:
      return Value::integer(floor_divide(a, b));
    case Operator::Modulo:
      return Value::integer(modulo(a, b));
    case Operator::Power:
      return power(a, b);
  }
  return {};
}

// Python's divmod for floats, step by step, so that the last bit agrees.
std::pair<double, double> float_divmod(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  const double down = std::floor(quotient);
  return {quotient - down > 0.5 ? down + 1 : down, rest};
}

Value compute_floats(Operator operation, double a, double b) {
  const bool divides =
      operation == Operator::Divide || operation == Operator::FloorDivide || operation == Operator::Modulo;
  ensure(!divides || b != 0, ErrorKind::BadInput, "division by zero");
  switch (operation) {
    case Operator::Add:
      return Value::number(a + b);
    case Operator::Subtract:
      return Value::number(a - b);
    case Operator::Multiply:
      return Value::number(a * b);
    case Operator::Divide:
      return Value::number(a / b);
    case Operator::FloorDivide:
      return Value::number(float_divmod(a, b).first);
    case Operator::Modulo:
      return Value::number(float_divmod(a, b).second);
    case Operator::Power: {
      ensure(a != 0 || b >= 0, ErrorKind::BadInput, "0 cannot be raised to a negative power");
      ensure(a >= 0 || b == std::floor(b), ErrorKind::BadInput,
             "a root of a negative number is not a real number");
      const double result = std::pow(a, b);
      ensure(!std::isinf(result) || std::isinf(a) || std::isinf(b), ErrorKind::BadInput,
             "the result of ** is too large");
      return Value::number(result);
    }
  }
  return {};
}

Value repeat(Budget& budget, const Value& what, std::int64_t count) {
  const auto times = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
  if (what.is_string()) {
    const Text& text = what.as_text();
    if (text.utf8.empty() || times == 0) return Value::string("", text.markup);
    if (times > budget.limits().work_bytes) budget.charge(budget.limits().work_bytes + 1);
    budget.charge(times * text.utf8.size());
    std::string out;
    out.reserve(times * text.utf8.size());
    for (std::uint64_t i = 0; i < times; ++i) out += text.utf8;
    return Value::string(std::move(out), text.markup);
  }
  const List& list = what.as_list();
  std::vector<Value> items;
  if (!list.items.empty() && times > 0) {
    if (times > budget.limits().work_bytes) budget.charge(budget.limits().work_bytes + 1);
    budget.charge_items(times * list.items.size());
    for (std::uint64_t i = 0; i < times; ++i) items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return Value::list_like({.items = std::move(items), .type = list.type});
}

bool repeatable(const Value& value) {
  return value.is_string() || (value.is_list() && (value.as_list().type == List::Type::List ||
                                                   value.as_list().type == List::Type::Tuple));
}

Value add(Budget& budget, const Value& left, const Value& right) {
  if (left.is_string() && right.is_string()) {
    const Text& a = left.as_text();
    const Text& b = right.as_text();
    if (a.markup || b.markup) {
      return make_string(budget, as_markup(budget, left) + as_markup(budget, right), true);
    }
    budget.charge(a.utf8.size() + b.utf8.size());
    return Value::string(a.utf8 + b.utf8);
  }
  if (repeatable(left) && repeatable(right) && left.is_list() && right.is_list() &&
      left.as_list().type == right.as_list().type) {
    budget.charge_items(left.as_list().items.size() + right.as_list().items.size());
    std::vector<Value> items = left.as_list().items;
    items.insert(items.end(), right.as_list().items.begin(), right.as_list().items.end());
    return Value::list_like({.items = std::move(items), .type = left.as_list().type});
  }
  wrong_types("+", left, right);
}

bool is_number(const Value& value) { return value.is(Kind::BigInteger) || real_number(value).has_value(); }

// Two integers written in decimal, with '-' where negative and without zeros in front.
int order_digits(std::string_view left, std::string_view right) {
  const bool negative = left.front() == '-';
  if (negative != (right.front() == '-')) return negative ? -1 : 1;
  int order = 0;
  if (left.size() != right.size()) {
    order = left.size() < right.size() ? -1 : 1;
  } else {
    const int compared = left.compare(right);
    order = compared < 0 ? -1 : compared > 0 ? 1 : 0;
  }
  return negative ? -order : order;
}

// An integer beyond 64 bits against any number.
int order_big(const Value& big, const Value& other) {
  const bool negative = big.as_big_integer().front() == '-';
  if (other.is(Kind::BigInteger)) return order_digits(big.as_big_integer(), other.as_big_integer());
  if (!other.is(Kind::Float)) return negative ? -1 : 1;
  const double real = other.as_float();
  if (std::isnan(real)) return 2;
  if (std::isinf(real)) return real > 0 ? -1 : 1;
  if (std::abs(real) < 9223372036854775808.0) return negative ? -1 : 1;
  return order_digits(big.as_big_integer(), whole_digits(real));
}

// A double against a 64-bit integer without rounding: x86 and ARM64 long doubles hold both exactly.
int order_numbers(const Value& left, const Value& right) {
  if (left.is(Kind::BigInteger)) return order_big(left, right);
  if (right.is(Kind::BigInteger)) {
    const int order = order_big(right, left);
    return order == 2 ? 2 : -order;
  }
  const auto exact = [](const Value& value) {
    const auto whole = whole_number(value);
    return whole ? static_cast<long double>(*whole) : static_cast<long double>(*real_number(value));
  };
  const long double a = exact(left);
  const long double b = exact(right);
  if (a < b) return -1;
  if (a > b) return 1;
  return a == b ? 0 : 2;  // 2: not a number is neither
}

bool equal_lists(Budget& budget, const List& left, const List& right) {
  if (left.type != right.type || left.items.size() != right.items.size()) return false;
  for (std::size_t i = 0; i < left.items.size(); ++i) {
    if (!equal(budget, left.items[i], right.items[i])) return false;
  }
  return true;
}

bool equal_mappings(Budget& budget, const Mapping& left, const Mapping& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(key);
    if (other == nullptr || !equal(budget, value, *other)) return false;
  }
  return true;
}

}  // namespace

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
    case Kind::None:
      return false;
    case Kind::Boolean:
      return value.as_boolean();
    case Kind::Integer:
      return value.as_integer() != 0;
    case Kind::Float:
      return value.as_float() != 0;
    case Kind::String:
      return !value.as_string().empty();
    case Kind::List:
      return value.as_list().type == List::Type::Iterator || !value.as_list().items.empty();
    case Kind::Mapping:
      return value.as_mapping().size() > 0;
    default:
      return true;
  }
}

std::optional<std::int64_t> whole_number(const Value& value) {
  if (value.is(Kind::Integer)) return value.as_integer();
  if (value.is(Kind::Boolean)) return value.as_boolean() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> real_number(const Value& value) {
  if (value.is(Kind::Float)) return value.as_float();
  if (const auto whole = whole_number(value)) return static_cast<double>(*whole);
  return std::nullopt;
}

void fail_undefined(const Value& value) {
  const std::string& why = value.undefined_why();
  fail(ErrorKind::BadInput, "{}",
       why.empty() ? std::string_view("a value is undefined") : std::string_view(why));
}

void refuse_undefined(const Value& value) {
  if (value.is_undefined()) fail_undefined(value);
}

Value compute(Budget& budget, Operator operation, const Value& left, const Value& right) {
  budget.step();
  refuse_undefined(left);
  if (operation == Operator::Modulo && left.is_string()) return format_percent(budget, left, right);
  refuse_undefined(right);
  const auto a = whole_number(left);
  const auto b = whole_number(right);
  if (a && b) return compute_integers(operation, *a, *b);
  if (real_number(left) && real_number(right))
    return compute_floats(operation, *real_number(left), *real_number(right));
  if (operation == Operator::Add && !left.is(Kind::BigInteger) && !right.is(Kind::BigInteger))
    return add(budget, left, right);
  if (operation == Operator::Multiply && repeatable(left) && b) return repeat(budget, left, *b);
  if (operation == Operator::Multiply && a && repeatable(right)) return repeat(budget, right, *a);
  if (left.is(Kind::BigInteger) || right.is(Kind::BigInteger)) too_large();
  wrong_types(kSigns[static_cast<std::size_t>(operation)], left, right);
}

Value negate(const Value& value) {
  refuse_undefined(value);
  if (const auto whole = whole_number(value)) {
    if (*whole == INT64_MIN) return Value::big_integer("9223372036854775808");
    return Value::integer(-*whole);
  }
  if (value.is(Kind::Float)) return Value::number(-value.as_float());
  if (value.is(Kind::BigInteger)) {
    const std::string& digits = value.as_big_integer();
    if (digits == "9223372036854775808") return Value::integer(INT64_MIN);
    return Value::big_integer(digits.front() == '-' ? digits.substr(1) : "-" + digits);
  }
  fail(ErrorKind::BadInput, "unsupported operand type for unary -: '{}'", type_name(value));
}

Value plus(const Value& value) {
  refuse_undefined(value);
  if (const auto whole = whole_number(value)) return Value::integer(*whole);
  if (value.is(Kind::Float) || value.is(Kind::BigInteger)) return value;
  fail(ErrorKind::BadInput, "unsupported operand type for unary +: '{}'", type_name(value));
}

bool equal(Budget& budget, const Value& left, const Value& right) {
  budget.step();
  if (is_number(left) && is_number(right)) return order_numbers(left, right) == 0;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::Undefined:
      return true;
    case Kind::String:
      budget.step(left.as_string().size() / 64);
      return left.as_string() == right.as_string();
    case Kind::List:
      if (left.as_list().type == List::Type::Iterator) return left.same_as(right);
      return left.same_as(right) ? true : equal_lists(budget, left.as_list(), right.as_list());
    case Kind::Mapping:
      return left.same_as(right) ? true : equal_mappings(budget, left.as_mapping(), right.as_mapping());
    default:
      return left.same_as(right);
  }
}

bool less(Budget& budget, const Value& left, const Value& right) {
  budget.step();
  refuse_undefined(left);
  refuse_undefined(right);
  if (is_number(left) && is_number(right)) return order_numbers(left, right) == -1;
  if (left.is_string() && right.is_string()) {
    budget.step(std::min(left.as_string().size(), right.as_string().size()) / 64);
    return left.as_string() < right.as_string();  // bytes of UTF-8 order as code points do
  }
  if (left.is_list() && right.is_list() && repeatable(left) && left.as_list().type == right.as_list().type) {
    const auto& a = left.as_list().items;
    const auto& b = right.as_list().items;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!equal(budget, a[i], b[i])) return less(budget, a[i], b[i]);
    }
    return a.size() < b.size();
  }
  fail(ErrorKind::BadInput, "'{}' and '{}' have no order", type_name(left), type_name(right));
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  budget.step();
  switch (container.kind()) {
    case Kind::Undefined:
      return false;
    case Kind::String:
      refuse_undefined(item);
      ensure(item.is_string(), ErrorKind::BadInput, "'in' on a string needs a string on its left, not '{}'",
             type_name(item));
      // Searching is quadratic in the worst case.
      budget.step(container.as_string().size() / 64 * (1 + item.as_string().size() / 64));
      return container.as_string().find(item.as_string()) != std::string::npos;
    case Kind::Mapping:
      ensure(hash_key(item).has_value(), ErrorKind::BadInput,
             "a value of type {} cannot be the key of a mapping", type_name(item));
      return container.as_mapping().find(item) != nullptr;
    case Kind::List: {
      const List& list = container.as_list();
      std::size_t at = list.consumed ? *list.consumed : 0;
      bool found = false;
      while (at < list.items.size() && !found) found = equal(budget, list.items[at++], item);
      if (list.consumed) *list.consumed = at;
      return found;
    }
    default:
      fail(ErrorKind::BadInput, "a value of type '{}' contains nothing", type_name(container));
  }
}

bool compare(Budget& budget, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::Equal:
      return equal(budget, left, right);
    case Comparison::NotEqual:
      return !equal(budget, left, right);
    case Comparison::Less:
      return less(budget, left, right);
    case Comparison::Greater:
      return less(budget, right, left);
    case Comparison::LessEqual:
      return less(budget, left, right) || equal(budget, left, right);
    case Comparison::GreaterEqual:
      return less(budget, right, left) || equal(budget, left, right);
    case Comparison::In:
      return contains(budget, right, left);
    case Comparison::NotIn:
      return !contains(budget, right, left);
  }
  return false;
}

std::string text_of(Budget& budget, const Value& value) {
  std::string text = print(value, budget.limits().output_bytes);
  budget.charge(text.size());
  return text;
}

Value make_string(Budget& budget, std::string text, bool markup) {
  budget.charge(text.size());
  return Value::string(std::move(text), markup);
}

std::string as_markup(Budget& budget, const Value& value) {
  if (value.is_string() && value.as_text().markup) return value.as_string();
  const std::string text = text_of(budget, value);
  budget.charge(text.size() * 5);  // the most that escaping can make of it
  return escape_html(text);
}

}  // namespace redline::text::jinja
