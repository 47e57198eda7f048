// JSON in and out. Reading goes through nlohmann's events rather than its documents, since those lose the
// order of keys and the digits of integers beyond 64 bits.
#include "text/jinja/json.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace redline::text::jinja {
namespace {

class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Value take() { return std::move(root_); }

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return add(value <= static_cast<std::uint64_t>(INT64_MAX)
                   ? Value::integer(static_cast<std::int64_t>(value))
                   : Value::big_integer(std::to_string(value)));
  }
  bool number_float(number_float_t value, const string_t& written) override {
    const bool whole = written.find_first_of(".eE") == std::string::npos;
    return add(whole ? Value::big_integer(written) : Value::number(value));
  }
  bool string(string_t& value) override { return add(Value::string(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override {
    Mapping entries = std::move(open_.back().entries);
    open_.pop_back();
    return add(Value::mapping(std::move(entries)));
  }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_array() override {
    std::vector<Value> items = std::move(open_.back().items);
    open_.pop_back();
    return add(Value::list(std::move(items)));
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& reason) override {
    // nlohmann's sentence begins with its own error number and position in brackets; ours names the position
    // once.
    std::string_view what = reason.what();
    if (const auto colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    fail(ErrorKind::BadInput, "not valid JSON at byte {}: {}", position, what);
  }

 private:
  struct Open {
    bool object = false;
    std::vector<Value> items;
    Mapping entries;
    std::string key;
  };

  bool open(bool object) {
    ensure(open_.size() < static_cast<std::size_t>(kMaxValueDepth), ErrorKind::BadInput,
           "JSON is nested more than {} deep", kMaxValueDepth);
    open_.push_back({.object = object, .items = {}, .entries = {}, .key = {}});
    return true;
  }

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().object) {
      open_.back().entries.set(open_.back().key, std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  std::vector<Open> open_;
  Value root_;
};

template <class Document>
Value convert(const Document& document, int depth) {
  ensure(depth <= kMaxValueDepth, ErrorKind::BadInput, "JSON is nested more than {} deep", kMaxValueDepth);
  switch (document.type()) {
    case nlohmann::detail::value_t::null:
      return Value::none();
    case nlohmann::detail::value_t::boolean:
      return Value::boolean(document.template get<bool>());
    case nlohmann::detail::value_t::number_integer:
      return Value::integer(document.template get<std::int64_t>());
    case nlohmann::detail::value_t::number_unsigned: {
      const auto value = document.template get<std::uint64_t>();
      return value <= static_cast<std::uint64_t>(INT64_MAX) ? Value::integer(static_cast<std::int64_t>(value))
                                                            : Value::big_integer(std::to_string(value));
    }
    case nlohmann::detail::value_t::number_float:
      return Value::number(document.template get<double>());
    case nlohmann::detail::value_t::string:
      return Value::string(document.template get<std::string>());
    case nlohmann::detail::value_t::array: {
      std::vector<Value> items;
      items.reserve(document.size());
      for (const auto& item : document) items.push_back(convert(item, depth + 1));
      return Value::list(std::move(items));
    }
    case nlohmann::detail::value_t::object: {
      Mapping entries;
      for (const auto& item : document.items()) entries.set(item.key(), convert(item.value(), depth + 1));
      return Value::mapping(std::move(entries));
    }
    default:
      fail(ErrorKind::BadInput, "JSON of type {} means nothing to a template", document.type_name());
  }
}

}  // namespace

Value parse_json(std::string_view text) {
  Reader reader;
  ensure(nlohmann::json::sax_parse(text.begin(), text.end(), &reader), ErrorKind::BadInput, "not valid JSON");
  return reader.take();
}

Value from_json(const nlohmann::json& document) { return convert(document, 0); }
Value from_json(const nlohmann::ordered_json& document) { return convert(document, 0); }

nlohmann::ordered_json to_json(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return nullptr;
    case Kind::Boolean:
      return value.as_boolean();
    case Kind::Integer:
      return value.as_integer();
    case Kind::BigInteger: {
      const double number = std::strtod(value.as_big_integer().c_str(), nullptr);
      ensure(std::isfinite(number), ErrorKind::BadInput, "an integer of {} digits is too large for a number",
             value.as_big_integer().size());
      return number;
    }
    case Kind::Float:
      return value.as_float();
    case Kind::String:
      return value.as_string();
    case Kind::List: {
      auto out = nlohmann::ordered_json::array();
      for (const Value& item : value.as_list().items) out.push_back(to_json(item));
      return out;
    }
    case Kind::Mapping: {
      auto out = nlohmann::ordered_json::object();
      for (const auto& [key, item] : value.as_mapping().entries()) {
        ensure(key.is_string(), ErrorKind::BadInput, "a key of type {} cannot be written as JSON",
               type_name(key));
        out[key.as_string()] = to_json(item);
      }
      return out;
    }
    default:
      fail(ErrorKind::BadInput, "a value of type {} cannot be written as JSON", type_name(value));
  }
}

}  // namespace redline::text::jinja
