// Filters on strings, numbers and single values, and the table of all. Those that walk over sequences and
// call other filters are in sequence_filters.cpp.
#include "text/jinja/filters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/formatting.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/printing.hpp"
#include "text/jinja/sequence_filters.hpp"

namespace redline::text::jinja {
namespace {

// A string as it is, anything else printed.
Value soft_string(Budget& budget, const Value& value) {
  return value.is_string() ? value : Value::string(text_of(budget, value));
}

template <std::string (*kChange)(std::string_view)>
Value change(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  const Value text = soft_string(budget, value);
  budget.charge(text.as_string().size() * 3);
  return Value::string(kChange(text.as_string()), text.as_text().markup);
}

// Unlike the method, a letter after an apostrophe or a digit stays small: only blanks, - ( { [ < begin a
// word.
std::string title_words(std::string_view text) {
  std::string out;
  std::string word;
  const auto flush = [&] {
    const std::size_t first = byte_of_character(word, 1);
    out += to_upper(word.substr(0, first)) + to_lower(word.substr(first));
    word.clear();
  };
  for (const std::string_view piece : split_characters(text)) {
    std::size_t at = 0;
    const char32_t character = next_character(piece, at);
    const bool separates =
        is_space(character) || std::u32string_view(U"-({[<").find(character) != std::u32string_view::npos;
    if (separates) {
      flush();
      out += piece;
    } else {
      word += piece;
    }
  }
  flush();
  return out;
}

Value title(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  const std::string text = text_of(budget, value);
  budget.charge(text.size() * 3);
  return Value::string(title_words(text));
}

Value trim(Budget& budget, const Value& value, const Arguments& arguments) {
  const auto characters = Bound("trim", arguments, {"chars"}).text(0);
  const Value text = soft_string(budget, value);
  return make_string(
      budget,
      std::string(characters ? strip(text.as_string(), Ends::Both, std::string_view(*characters))
                             : strip(text.as_string(), Ends::Both)),
      text.as_text().markup);
}

Value replace(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  const std::string text = text_of(budget, value);
  const std::string from = text_of(budget, bound.require(0));
  const std::string to = text_of(budget, bound.require(1));
  const bool limited = bound.has(2) && !bound.require(2).is_none();
  const std::int64_t most = limited ? bound.integer(2, -1) : -1;
  std::uint64_t hits = 0;
  if (from.empty()) {
    hits = count_characters(text) + 1;
  } else {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += from.size()) ++hits;
  }
  if (to.size() > from.size()) budget.charge(hits * (to.size() - from.size()));
  return make_string(budget, replace_all(text, from, to, most < 0 ? -1 : most));
}

Value indent(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  refuse_undefined(value);
  ensure(value.is_string(), ErrorKind::BadInput, "indent needs a string, not '{}'", type_name(value));
  std::string by = "    ";
  if (bound.has(0)) {
    if (bound.require(0).is_string()) {
      by = bound.require(0).as_string();
    } else {
      const std::int64_t width = std::max<std::int64_t>(bound.integer(0, 4), 0);
      budget.charge(static_cast<std::uint64_t>(width));
      by = std::string(static_cast<std::size_t>(width), ' ');
    }
  }
  const bool blank = bound.truth(2, false);
  const std::string text = value.as_string() + "\n";
  const auto lines = split_lines(text, false);
  budget.charge(text.size() + lines.size() * (by.size() + sizeof(std::string_view)));
  std::string out = bound.truth(1, false) ? by : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n";
    if (i > 0 && (blank || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return Value::string(std::move(out), value.as_text().markup);
}

Value default_value(Budget& /*budget*/, const Value& value, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool replaces = value.is_undefined() || (bound.truth(1, false) && !is_true(value));
  return replaces ? bound.get(0, Value::string("")) : value;
}

Value to_json_text(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.truth(0, false);
  style.sort_keys = bound.truth(3, false);
  if (bound.has(1) && !bound.require(1).is_none()) {
    const Value& by = bound.require(1);
    if (by.is_string()) {
      style.indent = by.as_string();
    } else {
      const std::int64_t width = std::max<std::int64_t>(bound.integer(1, 0), 0);
      ensure(width <= 1000, ErrorKind::BadInput, "tojson: an indent of {} is more than 1000", width);
      style.indent = std::string(static_cast<std::size_t>(width), ' ');
    }
    style.item_separator = ",";
  }
  if (bound.has(2) && !bound.require(2).is_none()) {
    const Value& pair = bound.require(2);
    const bool good = pair.is_list() && pair.as_list().items.size() == 2 &&
                      pair.as_list().items[0].is_string() && pair.as_list().items[1].is_string();
    ensure(good, ErrorKind::BadInput, "tojson: separators are two strings");
    style.item_separator = pair.as_list().items[0].as_string();
    style.key_separator = pair.as_list().items[1].as_string();
  }
  return make_string(budget, dump_json(value, style, budget.limits().output_bytes));
}

// Python's int(text, base); nothing if it would raise.
std::optional<std::int64_t> read_integer(std::string_view text, std::int64_t base) {
  std::string digits(strip(text, Ends::Both));
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.erase(0, 1);
  }
  const auto prefixed = [&](char letter) {
    return digits.size() > 2 && digits[0] == '0' && static_cast<char>(digits[1] | 0x20) == letter;
  };
  if ((base == 16 || base == 0) && prefixed('x')) {
    digits.erase(0, 2);
    base = 16;
  } else if ((base == 8 || base == 0) && prefixed('o')) {
    digits.erase(0, 2);
    base = 8;
  } else if ((base == 2 || base == 0) && prefixed('b')) {
    digits.erase(0, 2);
    base = 2;
  } else if (base == 0) {
    base = 10;
  }
  if (base < 2 || base > 36 || digits.empty()) return std::nullopt;
  if (digits.front() == '_' || digits.back() == '_' || digits.find("__") != std::string::npos)
    return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    const char lower = static_cast<char>(c | 0x20);
    const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
    if (digit >= base) return std::nullopt;
    const bool over = __builtin_mul_overflow(value, base, &value) ||
                      __builtin_add_overflow(value, negative ? -digit : digit, &value);
    ensure(!over, ErrorKind::BadInput, "an integer does not fit 64 bits");
  }
  return value;
}

// Python's float(text); nothing if it would raise.
std::optional<double> read_float(std::string_view text) {
  std::string written(strip(text, Ends::Both));
  const std::string lower = to_lower(written);
  std::string_view name = lower;
  if (!name.empty() && (name[0] == '-' || name[0] == '+')) name.remove_prefix(1);
  const bool named = name == "inf" || name == "infinity" || name == "nan";
  if (!named) {
    if (written.empty() || written.find_first_not_of("0123456789+-.eE_") != std::string::npos)
      return std::nullopt;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i] != '_') continue;
      const auto digit = [&](std::size_t at) {
        return at < written.size() && written[at] >= '0' && written[at] <= '9';
      };
      if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
    }
    std::erase(written, '_');
  }
  char* end = nullptr;
  const double value = std::strtod(written.c_str(), &end);
  if (end != written.c_str() + written.size()) return std::nullopt;
  return value;
}

std::optional<Value> truncate_float(double value) {
  if (!(std::abs(value) < 9223372036854775808.0)) {
    ensure(!std::isfinite(value), ErrorKind::BadInput, "an integer does not fit 64 bits");
    return std::nullopt;
  }
  return Value::integer(static_cast<std::int64_t>(value));
}

Value to_integer(Budget& /*budget*/, const Value& value, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  refuse_undefined(value);
  Value otherwise = bound.get(0, Value::integer(0));
  if (const auto whole = whole_number(value)) return Value::integer(*whole);
  if (value.is(Kind::BigInteger)) return value;
  if (value.is(Kind::Float)) {
    ensure(!std::isinf(value.as_float()), ErrorKind::BadInput, "cannot convert float infinity to integer");
    return truncate_float(value.as_float()).value_or(otherwise);
  }
  if (!value.is_string()) return otherwise;
  if (const auto whole = read_integer(value.as_string(), bound.integer(1, 10))) return Value::integer(*whole);
  const auto real = read_float(value.as_string());
  return real ? truncate_float(*real).value_or(otherwise) : otherwise;
}

Value to_float(Budget& /*budget*/, const Value& value, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  refuse_undefined(value);
  if (const auto real = real_number(value)) return Value::number(*real);
  if (value.is(Kind::BigInteger)) {
    const double real = std::strtod(value.as_big_integer().c_str(), nullptr);
    ensure(std::isfinite(real), ErrorKind::BadInput, "an integer of {} digits is too large for a float",
           value.as_big_integer().size());
    return Value::number(real);
  }
  if (value.is_string()) {
    if (const auto real = read_float(value.as_string())) return Value::number(*real);
  }
  return bound.get(0, Value::number(0.0));
}

Value absolute(Budget& /*budget*/, const Value& value, const Arguments& /*arguments*/) {
  refuse_undefined(value);
  if (value.is(Kind::Float)) return Value::number(std::abs(value.as_float()));
  if (value.is(Kind::BigInteger)) return value.as_big_integer().front() == '-' ? negate(value) : value;
  const auto whole = whole_number(value);
  ensure(whole.has_value(), ErrorKind::BadInput, "abs needs a number, not '{}'", type_name(value));
  return *whole < 0 ? negate(Value::integer(*whole)) : Value::integer(*whole);
}

// Half to even at a decimal place. Printing with that many digits rounds the exact value, as Python does.
Value round_to(const Value& value, std::int64_t places) {
  if (const auto whole = whole_number(value)) {
    if (places >= 0) return Value::integer(*whole);
    std::int64_t unit = 1;
    for (std::int64_t i = places; i < 0; ++i) {
      if (__builtin_mul_overflow(unit, 10, &unit)) return Value::integer(0);
    }
    const std::int64_t rest = ((*whole % unit) + unit) % unit;
    const std::int64_t down = *whole - rest;
    const bool up = rest > unit - rest || (rest == unit - rest && (down / unit) % 2 != 0);
    return Value::integer(up ? down + unit : down);
  }
  const double real = *real_number(value);
  if (!std::isfinite(real) || places > 300) return value;
  if (places < 0) {
    if (places < -308) return Value::number(std::copysign(0.0, real));
    const double unit = std::pow(10.0, static_cast<double>(-places));
    return Value::number(std::nearbyint(real / unit) * unit);
  }
  char buffer[700];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(places), real);
  return Value::number(std::strtod(buffer, nullptr));
}

Value round_number(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::int64_t places = bound.integer(0, 0);
  const std::string method = bound.text(1).value_or("common");
  ensure(method == "common" || method == "ceil" || method == "floor", ErrorKind::BadInput,
         "round: method must be common, ceil or floor");
  refuse_undefined(value);
  if (value.is(Kind::BigInteger)) {
    if (method == "common" && places >= 0) return value;
    fail(ErrorKind::BadInput, "round: an integer does not fit 64 bits");
  }
  ensure(real_number(value).has_value(), ErrorKind::BadInput, "round needs a number, not '{}'",
         type_name(value));
  if (method == "common") return round_to(value, places);
  const Value scale = compute(budget, Operator::Power, Value::integer(10), Value::integer(places));
  const double scaled = *real_number(compute(budget, Operator::Multiply, value, scale));
  const Value whole = Value::number(method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  const Value result = compute(budget, Operator::Divide, whole, scale);
  // Python's floor gives an integer, so that a zero loses its sign.
  return *real_number(result) == 0 ? Value::number(0.0) : result;
}

Value format_filter(Budget& budget, const Value& value, const Arguments& arguments) {
  ensure(arguments.positional.empty() || arguments.named.empty(), ErrorKind::BadInput,
         "format takes positional or named arguments, not both");
  const Value format = soft_string(budget, value);
  if (arguments.named.empty()) return format_percent(budget, format, Value::tuple(arguments.positional));
  Mapping named;
  for (const auto& [name, argument] : arguments.named) named.set(name, argument);
  return format_percent(budget, format, Value::mapping(std::move(named)));
}

Value escape(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  return Value::string(as_markup(budget, value), true);
}

constexpr Filter kFilters[] = {
    {"abs", "", absolute},
    {"capitalize", "", change<capitalize>},
    {"count", "",
     [](Budget&, const Value& value, const Arguments&) { return Value::integer(length_of(value)); }},
    {"d", "default_value boolean", default_value},
    {"default", "default_value boolean", default_value},
    {"dictsort", "case_sensitive by reverse", sort_mapping},
    {"e", "", escape},
    {"escape", "", escape},
    {"first", "", first_item},
    {"float", "default", to_float},
    {"format", "*", format_filter},
    {"indent", "width first blank", indent},
    {"int", "default base", to_integer},
    {"items", "", mapping_items},
    {"join", "d attribute", join_items},
    {"last", "", last_item},
    {"length", "",
     [](Budget&, const Value& value, const Arguments&) { return Value::integer(length_of(value)); }},
    {"list", "", as_list},
    {"lower", "", change<to_lower>},
    {"map", "*", map_items},
    {"max", "case_sensitive attribute", largest},
    {"min", "case_sensitive attribute", smallest},
    {"reject", "*", reject_items},
    {"rejectattr", "*", reject_by_attribute},
    {"replace", "old new count", replace},
    {"reverse", "", reverse_items},
    {"round", "precision method", round_number},
    {"safe", "",
     [](Budget& budget, const Value& value, const Arguments&) {
       return make_string(budget, text_of(budget, value), true);
     }},
    {"select", "*", select_items},
    {"selectattr", "*", select_by_attribute},
    {"sort", "reverse case_sensitive attribute", sort_items},
    {"string", "",
     [](Budget& budget, const Value& value, const Arguments&) { return soft_string(budget, value); }},
    {"sum", "attribute start", sum_items},
    {"title", "", title},
    {"tojson", "ensure_ascii indent separators sort_keys", to_json_text},
    {"trim", "chars", trim},
    {"unique", "case_sensitive attribute", unique_items},
    {"upper", "", change<to_upper>},
};

}  // namespace

const Filter* find_filter(std::string_view name) {
  const auto found = std::find_if(std::begin(kFilters), std::end(kFilters),
                                  [&](const Filter& one) { return one.name == name; });
  return found == std::end(kFilters) ? nullptr : &*found;
}

}  // namespace redline::text::jinja
