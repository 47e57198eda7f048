// Filling in strings. Conversions of numbers go through snprintf, which agrees with Python on the ones we
// accept.
#include "text/jinja/formatting.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/printing.hpp"

namespace redline::text::jinja {
namespace {

constexpr int kMostWidth = 4096;

struct Directive {
  std::string flags;
  int width = 0;
  int precision = -1;
  char conversion = 's';
};

// Reads what stands after a '%' and the optional (name); `at` ends behind the conversion.
Directive read_directive(std::string_view format, std::size_t& at) {
  Directive directive;
  const auto number = [&] {
    int value = 0;
    while (at < format.size() && format[at] >= '0' && format[at] <= '9') {
      value = value * 10 + (format[at++] - '0');
      ensure(value <= kMostWidth, ErrorKind::BadInput, "a width in a format string is above {}", kMostWidth);
    }
    return value;
  };
  while (at < format.size() && std::string_view("-+ 0#").find(format[at]) != std::string_view::npos) {
    directive.flags += format[at++];
  }
  directive.width = number();
  if (at < format.size() && format[at] == '.') {
    ++at;
    directive.precision = number();
  }
  ensure(at < format.size(), ErrorKind::BadInput, "a format string ends inside a % conversion");
  directive.conversion = format[at++];
  return directive;
}

std::string number_text(const Directive& directive, const Value& value) {
  std::string pattern = "%" + directive.flags;
  if (directive.width > 0) pattern += std::to_string(directive.width);
  if (directive.precision >= 0) pattern += "." + std::to_string(directive.precision);
  std::string out(static_cast<std::size_t>(kMostWidth) * 2 + 400, '\0');
  const char conversion = directive.conversion;
  const bool whole = std::string_view("diuxXo").find(conversion) != std::string_view::npos;
  ensure(!value.is(Kind::BigInteger), ErrorKind::BadInput, "%{}: an integer does not fit 64 bits",
         conversion);
  const auto real = real_number(value);
  ensure(real.has_value(), ErrorKind::BadInput, "%{} needs a number, not a value of type {}", conversion,
         type_name(value));
  int length = 0;
  if (whole) {
    const auto integer = whole_number(value);
    ensure(integer.has_value() || (std::isfinite(*real) && std::abs(*real) < 9e18), ErrorKind::BadInput,
           "%{} needs a number that fits 64 bits", conversion);
    const std::int64_t number = integer ? *integer : static_cast<std::int64_t>(*real);
    const bool signed_decimal = std::string_view("diu").find(conversion) != std::string_view::npos;
    ensure(signed_decimal || number >= 0, ErrorKind::BadInput, "%{} of a negative number is not supported",
           conversion);
    pattern += signed_decimal ? "lld" : std::string("ll") + conversion;
    length = std::snprintf(out.data(), out.size(), pattern.c_str(), static_cast<long long>(number));
  } else {
    pattern += conversion;
    length = std::snprintf(out.data(), out.size(), pattern.c_str(), *real);
  }
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string pad(const Directive& directive, std::string text) {
  if (directive.precision >= 0)
    text.resize(byte_of_character(text, static_cast<std::size_t>(directive.precision)));
  const std::size_t length = count_characters(text);
  const auto width = static_cast<std::size_t>(directive.width);
  if (length >= width) return text;
  const std::string blanks(width - length, ' ');
  return directive.flags.find('-') != std::string::npos ? text + blanks : blanks + text;
}

class BraceFormatter {
 public:
  BraceFormatter(Budget& budget, std::string_view format, const Arguments& arguments, bool markup)
      : budget_(budget), format_(format), arguments_(arguments), markup_(markup) {}

  std::string run() {
    std::string out;
    for (std::size_t at = 0; at < format_.size();) {
      const char c = format_[at];
      if ((c == '{' || c == '}') && at + 1 < format_.size() && format_[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        fail(ErrorKind::BadInput, "a single '}}' in a format string");
      } else if (c == '{') {
        const std::size_t end = format_.find('}', at);
        ensure(end != std::string_view::npos, ErrorKind::BadInput, "a single '{{' in a format string");
        out += field(format_.substr(at + 1, end - at - 1));
        budget_.charge(out.size() / 8);
        at = end + 1;
      } else {
        out += c;
        ++at;
      }
    }
    return out;
  }

 private:
  std::string field(std::string_view text) {
    bool represented = false;
    if (text.ends_with("!r")) represented = true;
    if (text.ends_with("!r") || text.ends_with("!s")) text.remove_suffix(2);
    ensure(text.find_first_of(":!{") == std::string_view::npos, ErrorKind::BadInput,
           "format specification '{}' in .format() is not supported", text);
    std::size_t end = text.find_first_of(".[");
    Value value = first(text.substr(0, end));
    while (end != std::string_view::npos && end < text.size()) {
      if (text[end] == '.') {
        const std::size_t next = text.find_first_of(".[", end + 1);
        value =
            attribute_of(value, text.substr(end + 1, next == std::string_view::npos ? next : next - end - 1));
        end = next;
      } else {
        const std::size_t close = text.find(']', end);
        ensure(close != std::string_view::npos, ErrorKind::BadInput, "'[' without ']' in a format string");
        const std::string_view key = text.substr(end + 1, close - end - 1);
        const bool digits =
            !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string_view::npos;
        value = item_of(
            value, digits ? Value::integer(std::stoll(std::string(key))) : Value::string(std::string(key)));
        end = close + 1;
      }
    }
    if (represented) return represent(value, budget_.limits().output_bytes);
    return markup_ ? as_markup(budget_, value) : text_of(budget_, value);
  }

  Value first(std::string_view name) {
    const bool digits = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!digits) {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      fail(ErrorKind::BadInput, ".format() has no argument '{}'", name);
    }
    const std::size_t index = name.empty()       ? next_++
                              : name.size() < 10 ? std::stoul(std::string(name))
                                                 : SIZE_MAX;
    ensure(index < arguments_.positional.size(), ErrorKind::BadInput, ".format() has only {} arguments",
           arguments_.positional.size());
    return arguments_.positional[index];
  }

  Budget& budget_;
  std::string_view format_;
  const Arguments& arguments_;
  bool markup_;
  std::size_t next_ = 0;
};

}  // namespace

Value format_percent(Budget& budget, const Value& format, const Value& values) {
  const bool tuple = values.is_list() && values.as_list().type == List::Type::Tuple;
  const std::string_view text = format.as_string();
  const bool markup = format.as_text().markup;
  std::size_t taken = 0;
  bool by_name = false;
  const auto next = [&]() -> Value {
    if (!tuple) {
      ensure(taken++ == 0, ErrorKind::BadInput, "not enough values for a format string");
      return values;
    }
    ensure(taken < values.as_list().items.size(), ErrorKind::BadInput,
           "not enough values for a format string");
    return values.as_list().items[taken++];
  };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      out += text[at++];
      continue;
    }
    if (++at < text.size() && text[at] == '%') {
      out += '%';
      ++at;
      continue;
    }
    Value value;
    bool named = false;
    if (at < text.size() && text[at] == '(') {
      const std::size_t end = text.find(')', at);
      ensure(end != std::string_view::npos && values.is_mapping(), ErrorKind::BadInput,
             "%(name) in a format string needs its ')' and a mapping");
      const Value* found = values.as_mapping().find(text.substr(at + 1, end - at - 1));
      ensure(found != nullptr, ErrorKind::BadInput, "a format string names '{}', which the mapping lacks",
             text.substr(at + 1, end - at - 1));
      value = *found;
      named = by_name = true;
      at = end + 1;
    }
    const Directive directive = read_directive(text, at);
    if (!named) value = next();
    switch (directive.conversion) {
      case 's':
        out += pad(directive, markup ? as_markup(budget, value) : text_of(budget, value));
        break;
      case 'r':
        out += pad(directive, represent(value, budget.limits().output_bytes));
        break;
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        out += number_text(directive, value);
        break;
      default:
        fail(ErrorKind::BadInput, "conversion %{} in a format string is not supported", directive.conversion);
    }
    budget.charge(out.size() / 8);
  }
  // Python takes whatever has items for a mapping here, lists too, and a mapping need not be used up.
  const bool has_items =
      values.is_mapping() || values.is_undefined() || (values.is_list() && values.as_list().is_sequence());
  const bool all_used = by_name || (tuple ? taken == values.as_list().items.size() : taken == 1 || has_items);
  ensure(all_used, ErrorKind::BadInput, "a format string does not use all its values");
  return make_string(budget, std::move(out), markup);
}

Value format_braces(Budget& budget, const Value& format, const Arguments& arguments) {
  const bool markup = format.as_text().markup;
  return make_string(budget, BraceFormatter(budget, format.as_string(), arguments, markup).run(), markup);
}

}  // namespace redline::text::jinja
