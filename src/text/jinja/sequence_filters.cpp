// map, select, sort and their like. Where Jinja gives a generator, we give an iterator over the finished
// items: it prints, counts and runs out like one, but errors in items nobody asks for come too.
#include "text/jinja/sequence_filters.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/tests.hpp"

namespace redline::text::jinja {
namespace {

Value iterator(std::vector<Value> items) {
  return Value::list_like({.items = std::move(items), .type = List::Type::Iterator});
}

// "name", "a.b.0" or a number, followed into an item. Nothing given: the item itself.
class Path {
 public:
  explicit Path(const Value& attribute, Value otherwise = {}) : otherwise_(std::move(otherwise)) {
    if (attribute.is_undefined() || attribute.is_none()) return;
    if (!attribute.is_string()) {
      parts_.push_back(attribute);
      return;
    }
    std::string_view rest = attribute.as_string();
    while (true) {
      const std::size_t dot = rest.find('.');
      const std::string part(rest.substr(0, dot));
      const bool digits =
          !part.empty() && part.size() < 18 && part.find_first_not_of("0123456789") == std::string::npos;
      parts_.push_back(digits ? Value::integer(std::stoll(part)) : Value::string(part));
      if (dot == std::string_view::npos) break;
      rest.remove_prefix(dot + 1);
    }
  }

  Value follow(Budget& budget, Value item) const {
    for (const Value& part : parts_) {
      budget.step();
      item = item_of(item, part);
      if (item.is_undefined() && !otherwise_.is_undefined() && !otherwise_.is_none()) item = otherwise_;
    }
    return item;
  }

 private:
  std::vector<Value> parts_;
  Value otherwise_;
};

Value without_case(Budget& budget, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return make_string(budget, to_lower(value.as_string()));
}

// The keys of one item: one per attribute of "a,b".
std::vector<Path> paths_of(const Value& attribute) {
  std::vector<Path> paths;
  if (!attribute.is_string()) {
    paths.emplace_back(attribute);
    return paths;
  }
  std::string_view rest = attribute.as_string();
  while (true) {
    const std::size_t comma = rest.find(',');
    paths.emplace_back(Value::string(std::string(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return paths;
    rest.remove_prefix(comma + 1);
  }
}

bool keys_less(Budget& budget, const std::vector<Value>& left, const std::vector<Value>& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!equal(budget, left[i], right[i])) return less(budget, left[i], right[i]);
  }
  return false;
}

std::vector<Value> sorted(Budget& budget, std::vector<Value> items,
                          const std::vector<std::vector<Value>>& keys, bool reverse) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return reverse ? keys_less(budget, keys[b], keys[a]) : keys_less(budget, keys[a], keys[b]);
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (const std::size_t index : order) out.push_back(std::move(items[index]));
  return out;
}

Value extreme(std::string_view name, Budget& budget, const Value& value, const Arguments& arguments,
              bool wants_largest) {
  const Bound bound(name, arguments, {"case_sensitive", "attribute"});
  const Path path(bound.get(1, Value::none()));
  const bool case_sensitive = bound.truth(0, false);
  const std::vector<Value> items = items_of(budget, value);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  std::size_t best = 0;
  Value best_key;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Value key = without_case(budget, path.follow(budget, items[i]), case_sensitive);
    const bool better = i == 0 || (wants_largest ? less(budget, best_key, key) : less(budget, key, best_key));
    if (!better) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Arguments rest_of(const Arguments& arguments, std::size_t from) {
  return {.positional = {arguments.positional.begin() + static_cast<std::ptrdiff_t>(from),
                         arguments.positional.end()},
          .named = arguments.named};
}

Value pick(std::string_view name, Budget& budget, const Value& value, const Arguments& arguments, bool wanted,
           bool by_attribute) {
  std::vector<Value> out;
  if (!is_true(value)) return iterator(std::move(out));
  std::size_t used = 0;
  Value attribute;
  if (by_attribute) {
    ensure(!arguments.positional.empty(), ErrorKind::BadInput, "{} needs the name of an attribute", name);
    attribute = arguments.positional[used++];
  }
  const Path path(attribute);
  const Test* test = nullptr;
  if (used < arguments.positional.size()) {
    const Value& called = arguments.positional[used++];
    test = called.is_string() ? find_test(called.as_string()) : nullptr;
    ensure(test != nullptr, ErrorKind::BadInput, "{}: there is no test '{}'", name, text_of(budget, called));
  }
  const Arguments rest = rest_of(arguments, used);
  ensure(test == nullptr ||
             (rest.named.empty() && rest.positional.size() == static_cast<std::size_t>(test->arguments)),
         ErrorKind::BadInput, "{}: test '{}' takes {} arguments", name, test == nullptr ? "" : test->name,
         test == nullptr ? 0 : test->arguments);
  for (Value& item : items_of(budget, value)) {
    budget.step();
    const Value looked_at = path.follow(budget, item);
    const bool holds = test == nullptr ? is_true(looked_at) : test->holds(budget, looked_at, rest);
    if (holds == wanted) out.push_back(std::move(item));
  }
  return iterator(std::move(out));
}

}  // namespace

Value as_list(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  return Value::list(items_of(budget, value));
}

Value first_item(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  if (value.is_list()) {
    const List& list = value.as_list();
    const std::size_t at = list.consumed ? *list.consumed : 0;
    if (at >= list.items.size()) return Value::undefined("No first item, sequence was empty.");
    if (list.consumed) ++*list.consumed;
    return list.items[at];
  }
  const std::vector<Value> items = items_of(budget, value);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last_item(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  ensure(!value.is_list() || value.as_list().type != List::Type::Iterator, ErrorKind::BadInput,
         "last: a generator cannot be read from its end");
  if (value.is_list()) {
    return value.as_list().items.empty() ? Value::undefined("No last item, sequence was empty.")
                                         : value.as_list().items.back();
  }
  const std::vector<Value> items = items_of(budget, value);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value join_items(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const std::string separator = bound.has(0) ? text_of(budget, bound.require(0)) : "";
  const Path path(bound.get(1, Value::none()));
  std::string out;
  bool first = true;
  for (const Value& item : items_of(budget, value)) {
    const std::string text = text_of(budget, path.follow(budget, item));
    budget.charge(text.size() + separator.size());
    if (!first) out += separator;
    first = false;
    out += text;
  }
  return make_string(budget, std::move(out));
}

Value largest(Budget& budget, const Value& value, const Arguments& arguments) {
  return extreme("max", budget, value, arguments, true);
}

Value smallest(Budget& budget, const Value& value, const Arguments& arguments) {
  return extreme("min", budget, value, arguments, false);
}

Value mapping_items(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  if (value.is_undefined()) return iterator({});
  ensure(value.is_mapping(), ErrorKind::BadInput, "Can only get item pairs from a mapping.");
  budget.charge_items(value.as_mapping().size() * 4);
  std::vector<Value> items;
  for (const auto& [key, item] : value.as_mapping().entries()) items.push_back(Value::tuple({key, item}));
  return iterator(std::move(items));
}

Value map_items(Budget& budget, const Value& value, const Arguments& arguments) {
  std::vector<Value> out;
  if (!is_true(value)) return iterator(std::move(out));
  if (arguments.positional.empty() && !arguments.named.empty()) {
    const Bound bound("map", arguments, {"attribute", "default"});
    const Path path(bound.require(0), bound.get(1, Value::none()));
    for (const Value& item : items_of(budget, value)) out.push_back(path.follow(budget, item));
    return iterator(std::move(out));
  }
  ensure(!arguments.positional.empty(), ErrorKind::BadInput, "map needs a filter or attribute=");
  // map may call map: its arguments bound how deep.
  ensure(arguments.positional.size() <= 32, ErrorKind::BadInput, "map takes at most 32 arguments");
  const Value& called = arguments.positional[0];
  const Filter* filter = called.is_string() ? find_filter(called.as_string()) : nullptr;
  ensure(filter != nullptr, ErrorKind::BadInput, "map: there is no filter '{}'", text_of(budget, called));
  const Arguments rest = rest_of(arguments, 1);
  ensure(!filter->parameters.empty() || rest.empty(), ErrorKind::BadInput,
         "map: filter '{}' takes no arguments", filter->name);
  for (const Value& item : items_of(budget, value)) {
    budget.step();
    out.push_back(filter->apply(budget, item, rest));
  }
  return iterator(std::move(out));
}

Value select_items(Budget& budget, const Value& value, const Arguments& arguments) {
  return pick("select", budget, value, arguments, true, false);
}
Value reject_items(Budget& budget, const Value& value, const Arguments& arguments) {
  return pick("reject", budget, value, arguments, false, false);
}
Value select_by_attribute(Budget& budget, const Value& value, const Arguments& arguments) {
  return pick("selectattr", budget, value, arguments, true, true);
}
Value reject_by_attribute(Budget& budget, const Value& value, const Arguments& arguments) {
  return pick("rejectattr", budget, value, arguments, false, true);
}

Value reverse_items(Budget& budget, const Value& value, const Arguments& /*arguments*/) {
  if (value.is_string()) return slice_of(budget, value, {.start = {}, .stop = {}, .step = -1});
  const bool readable_once = value.is_list() && value.as_list().type == List::Type::Iterator;
  std::vector<Value> items = items_of(budget, value);
  std::reverse(items.begin(), items.end());
  return readable_once ? Value::list(std::move(items)) : iterator(std::move(items));
}

Value sort_items(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const std::vector<Path> paths = paths_of(bound.get(2, Value::none()));
  const bool case_sensitive = bound.truth(1, false);
  std::vector<Value> items = items_of(budget, value);
  std::vector<std::vector<Value>> keys;
  budget.charge_items(items.size() * (paths.size() + 1));
  for (const Value& item : items) {
    std::vector<Value> key;
    key.reserve(paths.size());
    for (const Path& path : paths)
      key.push_back(without_case(budget, path.follow(budget, item), case_sensitive));
    keys.push_back(std::move(key));
  }
  return Value::list(sorted(budget, std::move(items), keys, bound.truth(0, false)));
}

Value sort_mapping(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1).value_or("key");
  ensure(by == "key" || by == "value", ErrorKind::BadInput,
         "You can only sort by either \"key\" or \"value\"");
  refuse_undefined(value);
  ensure(value.is_mapping(), ErrorKind::BadInput, "dictsort needs a mapping, not '{}'", type_name(value));
  budget.charge_items(value.as_mapping().size() * 6);
  std::vector<Value> items;
  std::vector<std::vector<Value>> keys;
  for (const auto& [key, item] : value.as_mapping().entries()) {
    items.push_back(Value::tuple({key, item}));
    keys.push_back({without_case(budget, by == "key" ? key : item, bound.truth(0, false))});
  }
  return Value::list(sorted(budget, std::move(items), keys, bound.truth(2, false)));
}

Value sum_items(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const Path path(bound.get(0, Value::none()));
  Value total = bound.get(1, Value::integer(0));
  ensure(!total.is_string(), ErrorKind::BadInput, "sum cannot add up strings; use join");
  for (const Value& item : items_of(budget, value)) {
    total = compute(budget, Operator::Add, total, path.follow(budget, item));
  }
  return total;
}

Value unique_items(Budget& budget, const Value& value, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const Path path(bound.get(1, Value::none()));
  std::unordered_set<std::string> seen;
  std::vector<Value> out;
  for (Value& item : items_of(budget, value)) {
    const Value key = without_case(budget, path.follow(budget, item), bound.truth(0, false));
    auto hashed = hash_key(key);
    ensure(hashed.has_value(), ErrorKind::BadInput,
           "unique: a value of type {} cannot be compared by its hash", type_name(key));
    budget.charge(hashed->size() + sizeof(std::string));
    if (seen.insert(*std::move(hashed)).second) out.push_back(std::move(item));
  }
  return iterator(std::move(out));
}

}  // namespace redline::text::jinja
