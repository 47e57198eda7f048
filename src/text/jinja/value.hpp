// What a chat template computes with: Python's values as far as templates see them. Requests and tools arrive
// as these (no JSON below the server), templates read them, and nobody changes one that others can see:
// strings, lists and mappings are shared and immutable once made. Only a namespace changes, and it never
// leaves its rendering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace redline::text::jinja {

class Mapping;
struct Callable;  // interpreter.hpp: macros, methods, functions
struct Loop;      // interpreter.hpp: the `loop` of a for
struct List;
struct Namespace;

// Values may be nested this deep; recursion over a value and its destruction stay within any thread's stack.
constexpr int kMaxValueDepth = 128;

struct Undefined {
  std::shared_ptr<const std::string> why;  // the sentence for when something is done with it
};
struct None {};

struct Text {
  std::string utf8;
  std::size_t characters = 0;  // Unicode code points: what templates count and index
  bool markup = false;  // marked by |safe or |escape, as Python's Markup: `+` escapes what it is joined with
  bool ascii() const { return characters == utf8.size(); }
};

// An integer from JSON that 64 bits do not hold: printed as it was written, compared, never computed with.
struct BigInteger {
  std::string digits;
};

class Value {
 public:
  enum class Kind : std::uint8_t {
    Undefined,
    None,
    Boolean,
    Integer,
    Float,
    BigInteger,
    String,
    List,
    Mapping,
    Namespace,
    Callable,
    Loop
  };

  Value() = default;  // undefined, without a name
  static Value undefined(std::string why);
  static Value none() { return Value(Held(None{})); }
  static Value boolean(bool value) { return Value(Held(value)); }
  static Value integer(std::int64_t value) { return Value(Held(value)); }
  static Value number(double value) { return Value(Held(value)); }
  static Value big_integer(std::string digits);
  static Value string(std::string utf8, bool markup = false);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value list_like(List list);
  static Value mapping(Mapping entries);
  static Value name_space(std::shared_ptr<Namespace> space) { return Value(Held(std::move(space))); }
  static Value callable(std::shared_ptr<const Callable> function) { return Value(Held(std::move(function))); }
  static Value loop(std::shared_ptr<Loop> loop) { return Value(Held(std::move(loop))); }

  Kind kind() const { return static_cast<Kind>(held_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_undefined() const { return is(Kind::Undefined); }
  bool is_none() const { return is(Kind::None); }
  bool is_string() const { return is(Kind::String); }
  bool is_list() const { return is(Kind::List); }
  bool is_mapping() const { return is(Kind::Mapping); }

  // Each asks for the right kind; std::bad_variant_access otherwise is a mistake of ours.
  bool as_boolean() const { return std::get<bool>(held_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(held_); }
  double as_float() const { return std::get<double>(held_); }
  const std::string& as_big_integer() const {
    return std::get<std::shared_ptr<const BigInteger>>(held_)->digits;
  }
  const Text& as_text() const { return *std::get<std::shared_ptr<const Text>>(held_); }
  const std::string& as_string() const { return as_text().utf8; }
  const List& as_list() const { return *std::get<std::shared_ptr<const List>>(held_); }
  const Mapping& as_mapping() const { return *std::get<std::shared_ptr<const Mapping>>(held_); }
  Namespace& as_namespace() const { return *std::get<std::shared_ptr<Namespace>>(held_); }
  std::shared_ptr<Namespace> shared_namespace() const { return std::get<std::shared_ptr<Namespace>>(held_); }
  const Callable& as_callable() const { return *std::get<std::shared_ptr<const Callable>>(held_); }
  Loop& as_loop() const { return *std::get<std::shared_ptr<Loop>>(held_); }
  const std::string& undefined_why() const;  // "" where none was given

  // True for the same object, or equal numbers, booleans and strings: Python's `is` as far as a template can
  // tell.
  bool same_as(const Value& other) const;
  int depth() const;  // 0 for a scalar, else 1 + the deepest item

 private:
  using Held =
      std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const BigInteger>,
                   std::shared_ptr<const Text>, std::shared_ptr<const List>, std::shared_ptr<const Mapping>,
                   std::shared_ptr<Namespace>, std::shared_ptr<const Callable>, std::shared_ptr<Loop>>;
  explicit Value(Held held) : held_(std::move(held)) {}
  Held held_;
};

using Kind = Value::Kind;

// Everything Python would iterate in order. What it is called decides how it prints and what may be done with
// it.
struct List {
  enum class Type : std::uint8_t { List, Tuple, Range, Keys, Values, Items, Iterator };
  std::vector<Value> items;
  Type type = Type::List;
  std::int64_t start = 0, stop = 0, step = 1;  // of a range, for printing
  std::shared_ptr<std::size_t> consumed;       // of an iterator: items already taken; it can be read once
  int depth = 1;
  bool is_sequence() const { return type == Type::List || type == Type::Tuple || type == Type::Range; }
};

// A dict: keeps the order of insertion, finds keys by Python's equality (1, 1.0 and True are one key).
class Mapping {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }
  int depth() const { return depth_; }
  const Value* find(std::string_view key) const;
  const Value* find(const Value& key) const;  // nullptr as well for keys that Python cannot hash
  void set(std::string_view key, Value value);
  void set(Value key, Value value);  // throws BadInput for a key that Python cannot hash
  void erase(std::string_view key);

 private:
  std::size_t index_of(std::string_view hash_key) const;

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t>
      index_;  // hash key -> entry; filled only past a handful of entries
  int depth_ = 1;
};

struct Namespace {
  Mapping attributes;
};

// A text that is equal for values which Python treats as one dict key; nothing for lists, dicts and the like.
std::optional<std::string> hash_key(const Value& value);

// "dict", "str", "NoneType" …: what Python calls the type, for messages.
std::string_view type_name(const Value& value);

}  // namespace redline::text::jinja
