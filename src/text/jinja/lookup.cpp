// object.name, object[key], slices, and walking over what can be walked over. Jinja's way: object.name asks
// for a method first and then for the key, object[key] the other way round; what is not there is undefined,
// not an error.
#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/loop.hpp"
#include "text/jinja/methods.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/printing.hpp"

namespace redline::text::jinja {
namespace {

std::string described(const Value& object) {
  return object.is_none() ? "None" : std::string(type_name(object)) + " object";
}

constexpr std::size_t kMostKeyBytes = 4096;  // of a key in a message

Value missing(const Value& object, const Value& key) {
  if (key.is_string()) {
    return Value::undefined(
        "'" + described(object) + "' has no attribute " +
        represent(Value::string(key.as_string().substr(0, byte_of_character(key.as_string(), 60))),
                  kMostKeyBytes));
  }
  const bool simple = key.depth() == 0;
  return Value::undefined(described(object) + " has no element " +
                          (simple ? represent(key, kMostKeyBytes) : "of that key"));
}

Value method(const Value& object, std::string_view name) {
  return Value::callable(std::make_shared<const Callable>(Callable{.what = Callable::What::Method,
                                                                   .name = std::string(name),
                                                                   .self = object,
                                                                   .macro = nullptr,
                                                                   .scope = {}}));
}

// The method, an unsafe one's stand-in, or nothing.
std::optional<Value> method_value(const Value& object, std::string_view name) {
  switch (method_of(object, name)) {
    case MethodState::Known:
      return method(object, name);
    case MethodState::Forbidden:
      return Value::undefined("access to attribute '" + std::string(name) + "' of '" +
                              std::string(type_name(object)) + "' object is unsafe.");
    case MethodState::Unknown:
      break;
  }
  return std::nullopt;
}

std::optional<Value> attribute_of_number(const Value& object, std::string_view name) {
  const bool whole = object.is(Kind::Integer) || object.is(Kind::Boolean) || object.is(Kind::BigInteger);
  if (!whole && !object.is(Kind::Float)) return std::nullopt;
  if (name == "real" || (whole && name == "numerator")) return plus(object);
  if (name == "imag") return whole ? Value::integer(0) : Value::number(0.0);
  if (whole && name == "denominator") return Value::integer(1);
  return std::nullopt;
}

struct Range {
  std::int64_t start, stop, step;
  std::int64_t count;
};

// Python's slice.indices and the number of items it selects.
Range indices(const Slice& slice, std::int64_t length) {
  const std::int64_t step = slice.step.value_or(1);
  ensure(step != 0, ErrorKind::BadInput, "the step of a slice is zero");
  const auto clamp = [&](std::int64_t index) {
    if (index < 0) {
      index += length;
      if (index < 0) return step < 0 ? std::int64_t{-1} : std::int64_t{0};
      return index;
    }
    if (index >= length) return step < 0 ? length - 1 : length;
    return index;
  };
  const std::int64_t start = slice.start ? clamp(*slice.start) : step < 0 ? length - 1 : 0;
  const std::int64_t stop = slice.stop ? clamp(*slice.stop) : step < 0 ? -1 : length;
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  // -(step + 1) does not overflow for the smallest step, -step would.
  if (step < 0 && stop < start)
    count = static_cast<std::int64_t>((static_cast<std::uint64_t>(start - stop - 1)) /
                                      (static_cast<std::uint64_t>(-(step + 1)) + 1)) +
            1;
  return {start, stop, step, count};
}

Value slice_string(Budget& budget, const Text& text, const Range& range) {
  std::string out;
  budget.step(text.utf8.size() / 64);
  if (text.ascii() && range.step == 1) {
    return make_string(
        budget,
        text.utf8.substr(static_cast<std::size_t>(range.start), static_cast<std::size_t>(range.count)),
        text.markup);
  }
  if (range.step == 1) {
    const std::size_t begin = byte_of_character(text.utf8, static_cast<std::size_t>(range.start));
    const std::size_t size =
        byte_of_character(std::string_view(text.utf8).substr(begin), static_cast<std::size_t>(range.count));
    return make_string(budget, text.utf8.substr(begin, size), text.markup);
  }
  budget.charge(text.characters * sizeof(std::string_view));
  const auto pieces = split_characters(text.utf8);
  for (std::int64_t i = 0; i < range.count; ++i)
    out += pieces[static_cast<std::size_t>(range.start + i * range.step)];
  return make_string(budget, std::move(out), text.markup);
}

Value slice_list(Budget& budget, const List& list, const Range& range) {
  budget.charge_items(static_cast<std::uint64_t>(range.count));
  List out{.items = {}, .type = list.type};
  for (std::int64_t i = 0; i < range.count; ++i) {
    out.items.push_back(list.items[static_cast<std::size_t>(range.start + i * range.step)]);
  }
  if (list.type == List::Type::Range) {
    out.start = list.start + range.start * list.step;
    out.step = list.step * range.step;
    out.stop = list.start + range.stop * list.step;
  }
  return Value::list_like(std::move(out));
}

}  // namespace

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_list() || value.is_mapping() ||
         value.is(Kind::Loop);
}

std::vector<Value> items_of(Budget& budget, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::Undefined:
      return items;
    case Kind::List: {
      const List& list = value.as_list();
      budget.charge_items(list.items.size());
      if (!list.consumed) return list.items;
      items.assign(list.items.begin() + static_cast<std::ptrdiff_t>(*list.consumed), list.items.end());
      *list.consumed = list.items.size();
      return items;
    }
    case Kind::Mapping:
      budget.charge_items(value.as_mapping().size());
      for (const auto& entry : value.as_mapping().entries()) items.push_back(entry.first);
      return items;
    case Kind::String:
      budget.charge(value.as_text().characters * (sizeof(Value) + sizeof(Text)));
      for (const std::string_view piece : split_characters(value.as_string())) {
        items.push_back(Value::string(std::string(piece)));
      }
      return items;
    default:
      fail(ErrorKind::BadInput, "'{}' object is not iterable", type_name(value));
  }
}

std::int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return 0;
    case Kind::String:
      return static_cast<std::int64_t>(value.as_text().characters);
    case Kind::Mapping:
      return static_cast<std::int64_t>(value.as_mapping().size());
    case Kind::Loop:
      return value.as_loop().length();
    case Kind::List:
      if (value.as_list().type == List::Type::Iterator) break;
      return static_cast<std::int64_t>(value.as_list().items.size());
    default:
      break;
  }
  fail(ErrorKind::BadInput, "object of type '{}' has no length", type_name(value));
}

Value attribute_of(const Value& object, std::string_view name) {
  refuse_undefined(object);
  if (auto found = attribute_of_number(object, name)) return *std::move(found);
  if (object.is(Kind::Namespace)) {
    if (const Value* found = object.as_namespace().attributes.find(name)) return *found;
    return missing(object, Value::string(std::string(name)));
  }
  if (auto found = method_value(object, name)) return *std::move(found);
  if (object.is(Kind::Loop)) {
    if (auto found = object.as_loop().attribute(name)) return *std::move(found);
  }
  if (object.is_mapping()) {
    if (const Value* found = object.as_mapping().find(name)) return *found;
  }
  if (object.is(Kind::Callable) && object.as_callable().what == Callable::What::Macro && name == "name") {
    return Value::string(object.as_callable().name);
  }
  return missing(object, Value::string(std::string(name)));
}

Value item_of(const Value& object, const Value& key) {
  refuse_undefined(object);
  if (object.is_mapping()) {
    if (const Value* found = object.as_mapping().find(key)) return *found;
  } else if (object.is_string() || (object.is_list() && object.as_list().is_sequence())) {
    if (const auto index = whole_number(key)) {
      const std::int64_t length = length_of(object);
      const std::int64_t at = *index < 0 ? *index + length : *index;
      if (at < 0 || at >= length) return missing(object, key);
      if (object.is_list()) return object.as_list().items[static_cast<std::size_t>(at)];
      const Text& text = object.as_text();
      if (text.ascii())
        return Value::string(std::string(1, text.utf8[static_cast<std::size_t>(at)]), text.markup);
      const std::size_t begin = byte_of_character(text.utf8, static_cast<std::size_t>(at));
      const std::string_view rest = std::string_view(text.utf8).substr(begin);
      return Value::string(std::string(rest.substr(0, byte_of_character(rest, 1))), text.markup);
    }
  }
  if (key.is_string()) {
    if (auto found = attribute_of_number(object, key.as_string())) return *std::move(found);
    if (object.is(Kind::Namespace) || object.is(Kind::Loop)) return attribute_of(object, key.as_string());
    if (auto found = method_value(object, key.as_string())) return *std::move(found);
  }
  return missing(object, key);
}

Value slice_of(Budget& budget, const Value& object, const Slice& slice) {
  refuse_undefined(object);
  budget.step();
  const bool sliceable = object.is_string() || (object.is_list() && object.as_list().is_sequence());
  ensure(sliceable, ErrorKind::BadInput, "'{}' object cannot be sliced", type_name(object));
  const Range range = indices(slice, length_of(object));
  return object.is_string() ? slice_string(budget, object.as_text(), range)
                            : slice_list(budget, object.as_list(), range);
}

}  // namespace redline::text::jinja
