// Making values, the ordered mapping and its keys. value.hpp says what they mean.
#include "text/jinja/value.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/printing.hpp"

namespace redline::text::jinja {
namespace {

constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);
constexpr std::size_t kMostTupleKeyBytes = std::size_t{1} << 20;
constexpr std::size_t kIndexFrom = 12;  // below this many entries walking them is as fast as hashing

void check_depth(int depth) {
  ensure(depth <= kMaxValueDepth, ErrorKind::BadInput, "a value is nested more than {} deep", kMaxValueDepth);
}

}  // namespace

Value Value::undefined(std::string why) {
  return Value(Held(Undefined{std::make_shared<const std::string>(std::move(why))}));
}

Value Value::big_integer(std::string digits) {
  return Value(Held(std::make_shared<const BigInteger>(BigInteger{std::move(digits)})));
}

Value Value::string(std::string utf8, bool markup) {
  const std::size_t characters = count_characters(utf8);
  return Value(Held(std::make_shared<const Text>(Text{std::move(utf8), characters, markup})));
}

Value Value::list(std::vector<Value> items) { return list_like({.items = std::move(items)}); }

Value Value::tuple(std::vector<Value> items) {
  return list_like({.items = std::move(items), .type = List::Type::Tuple});
}

Value Value::list_like(List list) {
  int depth = 0;
  for (const Value& item : list.items) depth = std::max(depth, item.depth());
  check_depth(depth + 1);
  list.depth = depth + 1;
  if (list.type == List::Type::Iterator) list.consumed = std::make_shared<std::size_t>(0);
  return Value(Held(std::make_shared<const List>(std::move(list))));
}

Value Value::mapping(Mapping entries) {
  check_depth(entries.depth());
  return Value(Held(std::make_shared<const Mapping>(std::move(entries))));
}

const std::string& Value::undefined_why() const {
  static const std::string kNothing;
  const auto& why = std::get<Undefined>(held_).why;
  return why ? *why : kNothing;
}

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::Undefined:
      return std::get<Undefined>(held_).why == std::get<Undefined>(other.held_).why;
    case Kind::None:
      return true;
    case Kind::Boolean:
      return as_boolean() == other.as_boolean();
    case Kind::Integer:
      return as_integer() == other.as_integer();
    case Kind::Float:
      return as_float() == other.as_float();
    case Kind::BigInteger:
      return as_big_integer() == other.as_big_integer();
    case Kind::String:
      return as_string() == other.as_string();
    case Kind::List:
      return &as_list() == &other.as_list();
    case Kind::Mapping:
      return &as_mapping() == &other.as_mapping();
    case Kind::Namespace:
      return &as_namespace() == &other.as_namespace();
    case Kind::Callable:
      return &as_callable() == &other.as_callable();
    case Kind::Loop:
      return &as_loop() == &other.as_loop();
  }
  return false;
}

int Value::depth() const {
  switch (kind()) {
    case Kind::List:
      return as_list().depth;
    case Kind::Mapping:
      return as_mapping().depth();
    case Kind::Namespace:
      return as_namespace().attributes.depth();
    case Kind::Callable:
      return 1 + as_callable().self.depth();
    default:
      return 0;
  }
}

std::optional<std::string> hash_key(const Value& value) {
  switch (value.kind()) {
    case Kind::None:
      return "n";
    case Kind::Boolean:
      return value.as_boolean() ? "i1" : "i0";
    case Kind::Integer:
      return "i" + std::to_string(value.as_integer());
    case Kind::BigInteger:
      return "i" + value.as_big_integer();
    case Kind::Float: {
      const double number = value.as_float();
      // 2^63 is exact as a double; below it a whole double is one of the integers.
      if (number == std::floor(number) && std::abs(number) < 9223372036854775808.0) {
        return "i" + std::to_string(static_cast<std::int64_t>(number));
      }
      if (std::isfinite(number) && number == std::floor(number)) return "i" + whole_digits(number);
      return "f" + print_float(number);
    }
    case Kind::String:
      return "s" + value.as_string();
    case Kind::Undefined:
      return "u";
    case Kind::List: {
      const List& list = value.as_list();
      if (list.type == List::Type::Range) {
        // Equal as soon as the same numbers come out.
        std::string key = "r" + std::to_string(list.items.size());
        if (!list.items.empty()) key += ":" + std::to_string(list.start);
        if (list.items.size() > 1) key += ":" + std::to_string(list.step);
        return key;
      }
      if (list.type != List::Type::Tuple) return std::nullopt;
      std::string key = "t" + std::to_string(value.as_list().items.size());
      for (const Value& item : value.as_list().items) {
        const auto part = hash_key(item);
        if (!part) return std::nullopt;
        key += ":" + std::to_string(part->size()) + ":" + *part;
        // Tuples that share their items can stand for more text than there is memory.
        ensure(key.size() < kMostTupleKeyBytes, ErrorKind::BadInput, "a tuple is too large to be a key");
      }
      return key;
    }
    default:
      return std::nullopt;
  }
}

std::size_t Mapping::index_of(std::string_view key) const {
  if (!index_.empty()) {
    const auto found = index_.find(std::string(key));
    return found == index_.end() ? kNotFound : found->second;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Value& have = entries_[i].first;
    if (have.is_string()) {
      if (key.front() == 's' && have.as_string() == key.substr(1)) return i;
    } else if (key.front() != 's' && hash_key(have) == key) {
      return i;
    }
  }
  return kNotFound;
}

const Value* Mapping::find(std::string_view key) const {
  if (index_.empty()) {
    for (const Entry& entry : entries_) {
      if (entry.first.is_string() && entry.first.as_string() == key) return &entry.second;
    }
    return nullptr;
  }
  const std::size_t at = index_of("s" + std::string(key));
  return at == kNotFound ? nullptr : &entries_[at].second;
}

const Value* Mapping::find(const Value& key) const {
  if (key.is_string()) return find(std::string_view(key.as_string()));
  const auto hashed = hash_key(key);
  if (!hashed) return nullptr;
  const std::size_t at = index_of(*hashed);
  return at == kNotFound ? nullptr : &entries_[at].second;
}

void Mapping::set(std::string_view key, Value value) {
  set(Value::string(std::string(key)), std::move(value));
}

void Mapping::set(Value key, Value value) {
  auto hashed = hash_key(key);
  ensure(hashed.has_value(), ErrorKind::BadInput, "a value of type {} cannot be the key of a mapping",
         type_name(key));
  depth_ = std::max({depth_, 1 + key.depth(), 1 + value.depth()});
  check_depth(depth_);
  const std::size_t at = index_of(*hashed);
  if (at != kNotFound) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (!index_.empty()) {
    index_.emplace(std::move(*hashed), entries_.size() - 1);
  } else if (entries_.size() >= kIndexFrom) {
    for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace(*hash_key(entries_[i].first), i);
  }
}

void Mapping::erase(std::string_view key) {
  Mapping rest;
  for (Entry& entry : entries_) {
    if (entry.first.is_string() && entry.first.as_string() == key) continue;
    rest.set(std::move(entry.first), std::move(entry.second));
  }
  *this = std::move(rest);
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return "Undefined";
    case Kind::None:
      return "NoneType";
    case Kind::Boolean:
      return "bool";
    case Kind::Integer:
    case Kind::BigInteger:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::String:
      return "str";
    case Kind::Mapping:
      return "dict";
    case Kind::Namespace:
      return "Namespace";
    case Kind::Callable:
      return "function";
    case Kind::Loop:
      return "LoopContext";
    case Kind::List:
      break;
  }
  switch (value.as_list().type) {
    case List::Type::List:
      return "list";
    case List::Type::Tuple:
      return "tuple";
    case List::Type::Range:
      return "range";
    case List::Type::Keys:
      return "dict_keys";
    case List::Type::Values:
      return "dict_values";
    case List::Type::Items:
      return "dict_items";
    case List::Type::Iterator:
      return "generator";
  }
  return "list";
}

}  // namespace redline::text::jinja
