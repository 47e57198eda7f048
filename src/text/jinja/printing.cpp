// str(), repr() and json.dumps. Floats: shortest digits, then Python's choice between fixed and exponent
// form.
#include "text/jinja/printing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/interpreter.hpp"

namespace redline::text::jinja {
namespace {

void check_size(const std::string& out, std::size_t most_bytes) {
  ensure(out.size() <= most_bytes, ErrorKind::BadInput, "a printed value is longer than {} bytes",
         most_bytes);
}

void represent_string(const Text& text, std::string& out) {
  const bool has_single = text.utf8.find('\'') != std::string::npos;
  const bool has_double = text.utf8.find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  if (text.markup) out += "Markup(";
  out += quote;
  for (std::size_t at = 0; at < text.utf8.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text.utf8, at);
    if (character == static_cast<char32_t>(quote) || character == '\\') {
      out += '\\';
      out += static_cast<char>(character);
    } else if (character == '\n') {
      out += "\\n";
    } else if (character == '\r') {
      out += "\\r";
    } else if (character == '\t') {
      out += "\\t";
    } else if (is_printable(character)) {
      out.append(text.utf8, begin, at - begin);
    } else if (character < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(character));
    } else if (character < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(character));
    }
  }
  out += quote;
  if (text.markup) out += ')';
}

class Representer {
 public:
  Representer(std::string& out, std::size_t most_bytes) : out_(out), most_bytes_(most_bytes) {}

  void write(const Value& value, int depth) {
    // A namespace can hold itself, so depth is counted here as well.
    ensure(depth <= 2 * kMaxValueDepth, ErrorKind::BadInput, "a value that holds itself cannot be printed");
    check_size(out_, most_bytes_);
    switch (value.kind()) {
      case Kind::Undefined:
        out_ += "Undefined";
        return;
      case Kind::None:
        out_ += "None";
        return;
      case Kind::Boolean:
        out_ += value.as_boolean() ? "True" : "False";
        return;
      case Kind::Integer:
        out_ += std::to_string(value.as_integer());
        return;
      case Kind::BigInteger:
        out_ += value.as_big_integer();
        return;
      case Kind::Float:
        out_ += print_float(value.as_float());
        return;
      case Kind::String:
        represent_string(value.as_text(), out_);
        return;
      case Kind::List:
        write_list(value.as_list(), depth);
        return;
      case Kind::Mapping:
        write_mapping(value.as_mapping(), depth);
        return;
      case Kind::Namespace:
        out_ += "<Namespace ";
        write_mapping(value.as_namespace().attributes, depth);
        out_ += '>';
        return;
      case Kind::Callable:
        out_ += fmt::format("<{}>", value.as_callable().shown());
        return;
      case Kind::Loop:
        out_ += "<LoopContext>";
        return;
    }
  }

 private:
  void write_list(const List& list, int depth) {
    using Type = List::Type;
    if (list.type == Type::Range) {
      out_ += list.step == 1 ? fmt::format("range({}, {})", list.start, list.stop)
                             : fmt::format("range({}, {}, {})", list.start, list.stop, list.step);
      return;
    }
    if (list.type == Type::Iterator) {
      out_ += "<generator>";
      return;
    }
    const bool view = list.type != Type::List && list.type != Type::Tuple;
    if (list.type == Type::Keys) out_ += "dict_keys(";
    if (list.type == Type::Values) out_ += "dict_values(";
    if (list.type == Type::Items) out_ += "dict_items(";
    out_ += list.type == Type::Tuple ? '(' : '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      write(list.items[i], depth + 1);
    }
    if (list.type == Type::Tuple) {
      out_ += list.items.size() == 1 ? ",)" : ")";
    } else {
      out_ += ']';
    }
    if (view) out_ += ')';
  }

  void write_mapping(const Mapping& mapping, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : mapping.entries()) {
      if (!first) out_ += ", ";
      first = false;
      write(key, depth + 1);
      out_ += ": ";
      write(value, depth + 1);
    }
    out_ += '}';
  }

  std::string& out_;
  std::size_t most_bytes_;
};

void append_u(std::string& out, char32_t unit) {
  out += fmt::format("\\u{:04x}", static_cast<unsigned>(unit));
}

void json_string(std::string_view text, bool ensure_ascii, std::string& out) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(text, at);
    switch (character) {
      case '"':
        out += "\\\"";
        continue;
      case '\\':
        out += "\\\\";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\t':
        out += "\\t";
        continue;
      case '\f':
        out += "\\f";
        continue;
      case '\b':
        out += "\\b";
        continue;
      default:
        break;
    }
    if (character < 0x20 || (ensure_ascii && character > 0x7E && character < 0x10000)) {
      append_u(out, character);
    } else if (ensure_ascii && character >= 0x10000) {
      append_u(out, 0xD800 + ((character - 0x10000) >> 10));
      append_u(out, 0xDC00 + ((character - 0x10000) & 0x3FF));
    } else {
      out.append(text, begin, at - begin);
    }
  }
  out += '"';
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return print_float(value);
}

class JsonWriter {
 public:
  JsonWriter(std::string& out, const JsonStyle& style, std::size_t most_bytes)
      : out_(out), style_(style), most_bytes_(most_bytes) {}

  void write(const Value& value, int level) {
    check_size(out_, most_bytes_);
    switch (value.kind()) {
      case Kind::None:
        out_ += "null";
        return;
      case Kind::Boolean:
        out_ += value.as_boolean() ? "true" : "false";
        return;
      case Kind::Integer:
        out_ += std::to_string(value.as_integer());
        return;
      case Kind::BigInteger:
        out_ += value.as_big_integer();
        return;
      case Kind::Float:
        out_ += json_float(value.as_float());
        return;
      case Kind::String:
        json_string(value.as_string(), style_.ensure_ascii, out_);
        return;
      case Kind::Mapping:
        write_mapping(value.as_mapping(), level);
        return;
      case Kind::List:
        if (value.as_list().type == List::Type::List || value.as_list().type == List::Type::Tuple) {
          write_list(value.as_list().items, level);
          return;
        }
        break;
      default:
        break;
    }
    fail(ErrorKind::BadInput, "a value of type {} cannot be written as JSON", type_name(value));
  }

 private:
  void new_line(int level) {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < level; ++i) out_ += *style_.indent;
    check_size(out_, most_bytes_);
  }

  void write_list(const std::vector<Value>& items, int level) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      write(items[i], level + 1);
    }
    if (!items.empty()) new_line(level);
    out_ += ']';
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::String:
        json_string(key.as_string(), style_.ensure_ascii, out_);
        return;
      case Kind::None:
      case Kind::Boolean:
      case Kind::Integer:
      case Kind::BigInteger:
      case Kind::Float:
        out_ += '"';
        write(key, 0);
        out_ += '"';
        return;
      default:
        fail(ErrorKind::BadInput, "a key of type {} cannot be written as JSON", type_name(key));
    }
  }

  void write_mapping(const Mapping& mapping, int level) {
    std::vector<const Mapping::Entry*> entries;
    for (const auto& entry : mapping.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      for (const auto* entry : entries) {
        ensure(entry->first.is_string(), ErrorKind::BadInput,
               "only keys that are strings can be sorted in JSON");
      }
      // The order of bytes in UTF-8 is the order of code points.
      std::stable_sort(entries.begin(), entries.end(),
                       [](auto* a, auto* b) { return a->first.as_string() < b->first.as_string(); });
    }
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(level + 1);
      write_key(entries[i]->first);
      out_ += style_.key_separator;
      write(entries[i]->second, level + 1);
    }
    if (!entries.empty()) new_line(level);
    out_ += '}';
  }

  std::string& out_;
  const JsonStyle& style_;
  std::size_t most_bytes_;
};

}  // namespace

std::string print_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  const bool negative = text.front() == '-';
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const std::string exponent_text(text.substr(e + 1));
  const int exponent = std::stoi(exponent_text);
  std::string out = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits.front();
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  const auto point = static_cast<std::size_t>(exponent + 1);
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

std::string whole_digits(double value) { return fmt::format("{:.0f}", value); }

std::string print(const Value& value, std::size_t most_bytes) {
  if (value.is_string()) return value.as_string();
  if (value.is_undefined()) return {};
  return represent(value, most_bytes);
}

std::string represent(const Value& value, std::size_t most_bytes) {
  std::string out;
  Representer(out, most_bytes).write(value, 0);
  check_size(out, most_bytes);
  return out;
}

std::string dump_json(const Value& value, const JsonStyle& style, std::size_t most_bytes) {
  std::string out;
  JsonWriter(out, style, most_bytes).write(value, 0);
  check_size(out, most_bytes);
  return out;
}

}  // namespace redline::text::jinja
