// Methods by type. The tables decide what exists; each entry takes the object and its arguments.
#include "text/jinja/methods.hpp"

#include <algorithm>
#include <functional>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/jinja/formatting.hpp"
#include "text/jinja/loop.hpp"
#include "text/jinja/operators.hpp"

namespace redline::text::jinja {
namespace {

struct Call {
  Budget& budget;
  const Value& self;
  std::string_view name;
  const Arguments& arguments;

  const std::string& text() const { return self.as_string(); }
  bool markup() const { return self.as_text().markup; }
  Value string(std::string_view value) const { return make_string(budget, std::string(value), markup()); }
  Bound bound(std::initializer_list<std::string_view> parameters) const {
    return {name, arguments, parameters};
  }
  void no_arguments() const { bound({}); }
};

struct Method {
  std::string_view name;
  Value (*apply)(const Call& call);
};

// ---- strings ----

template <Ends kEnds>
Value strip_ends(const Call& call) {
  const auto characters = call.bound({"chars"}).text(0);
  call.budget.step(call.text().size() / 64);
  return call.string(characters ? strip(call.text(), kEnds, std::string_view(*characters))
                                : strip(call.text(), kEnds));
}

std::vector<std::string_view> split_on_space(std::string_view text, std::int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  // What the limit leaves over keeps the white space at its far end.
  text = strip(text, from_right ? Ends::Right : Ends::Left);
  while (!text.empty() && most != 0) {
    std::size_t at = from_right ? text.size() : 0;
    // Find the nearest white space from the side we start at.
    std::size_t cut = std::string_view::npos;
    if (from_right) {
      while (at > 0) {
        std::size_t begin = at - 1;
        while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
        std::size_t decode = begin;
        if (is_space(next_character(text, decode))) {
          cut = at;
          break;
        }
        at = begin;
      }
      if (cut == std::string_view::npos) break;
      parts.push_back(text.substr(cut));
      text = strip(text.substr(0, cut), Ends::Right);
    } else {
      while (at < text.size()) {
        const std::size_t begin = at;
        if (is_space(next_character(text, at))) {
          cut = begin;
          break;
        }
      }
      if (cut == std::string_view::npos) break;
      parts.push_back(text.substr(0, cut));
      text = strip(text.substr(cut), Ends::Left);
    }
    --most;
  }
  if (!text.empty()) parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_on(std::string_view text, std::string_view separator, std::int64_t most,
                                       bool from_right) {
  std::vector<std::string_view> parts;
  while (most != 0) {
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    if (from_right) {
      parts.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text.remove_prefix(at + separator.size());
    }
    --most;
  }
  parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

Value strings(const Call& call, const std::vector<std::string_view>& parts,
              List::Type type = List::Type::List) {
  call.budget.charge_items(parts.size());
  call.budget.charge(parts.size() * sizeof(Text));
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) items.push_back(call.string(part));
  return Value::list_like({.items = std::move(items), .type = type});
}

template <bool kFromRight>
Value split(const Call& call) {
  const Bound bound = call.bound({"sep", "maxsplit"});
  const auto separator = bound.text(0);
  const std::int64_t most = bound.integer(1, -1);
  call.budget.charge(call.text().size());
  if (!separator) return strings(call, split_on_space(call.text(), most, kFromRight));
  ensure(!separator->empty(), ErrorKind::BadInput, "{}(): empty separator", call.name);
  return strings(call, split_on(call.text(), *separator, most, kFromRight));
}

template <bool kFromRight>
Value partition(const Call& call) {
  const Bound bound = call.bound({"sep"});
  const auto separator = bound.text(0);
  ensure(separator && !separator->empty(), ErrorKind::BadInput, "{}() needs a separator that is not empty",
         call.name);
  const std::string_view text = call.text();
  const std::size_t at = kFromRight ? text.rfind(*separator) : text.find(*separator);
  std::vector<std::string_view> parts;
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), *separator, text.substr(at + separator->size())};
  } else if (kFromRight) {
    parts = {"", "", text};
  } else {
    parts = {text, "", ""};
  }
  return strings(call, parts, List::Type::Tuple);
}

Value split_into_lines(const Call& call) {
  const bool keep = call.bound({"keepends"}).truth(0, false);
  call.budget.charge(call.text().size());
  return strings(call, split_lines(call.text(), keep));
}

// The part of the string that the optional start and end (of find, count, startswith …) leave; nothing when
// Python would find not even the empty string there. `offset` counts characters.
struct Window {
  std::string_view text;
  std::int64_t offset = 0;
};
std::optional<Window> window(const Call& call, const Bound& bound) {
  const Text& text = call.self.as_text();
  const auto length = static_cast<std::int64_t>(text.characters);
  const auto limit = [&](std::size_t index, std::int64_t otherwise) {
    if (!bound.has(index) || bound.require(index).is_none()) return otherwise;
    const std::int64_t at = bound.integer(index, otherwise);
    return at < 0 ? std::max<std::int64_t>(at + length, 0) : at;
  };
  call.budget.step(text.utf8.size() / 16);
  const std::int64_t start = limit(1, 0);
  const std::int64_t end = std::min(limit(2, length), length);
  if (start > end) return std::nullopt;
  const std::size_t begin = byte_of_character(text.utf8, static_cast<std::size_t>(start));
  const std::string_view rest = std::string_view(text.utf8).substr(begin);
  return Window{rest.substr(0, byte_of_character(rest, static_cast<std::size_t>(end - start))), start};
}

std::string needle(const Call& call, const Bound& bound) {
  const auto text = bound.text(0);
  ensure(text.has_value(), ErrorKind::BadInput, "{}() needs a string", call.name);
  return *text;
}

template <bool kAtEnd>
Value has_affix(const Call& call) {
  const Bound bound = call.bound({"affix", "start", "end"});
  const auto matches = [&](const std::optional<Window>& within, const Value& affix) {
    ensure(affix.is_string(), ErrorKind::BadInput, "{}() needs a string or a tuple of strings, not '{}'",
           call.name, type_name(affix));
    if (!within) return false;
    return kAtEnd ? within->text.ends_with(affix.as_string()) : within->text.starts_with(affix.as_string());
  };
  const auto within = window(call, bound);
  const Value& affix = bound.require(0);
  if (!affix.is_list() || affix.as_list().type != List::Type::Tuple)
    return Value::boolean(matches(within, affix));
  return Value::boolean(std::any_of(affix.as_list().items.begin(), affix.as_list().items.end(),
                                    [&](const Value& one) { return matches(within, one); }));
}

template <bool kFromRight, bool kMustBe>
Value find(const Call& call) {
  const Bound bound = call.bound({"sub", "start", "end"});
  const std::string what = needle(call, bound);
  const auto within = window(call, bound);
  std::size_t at = std::string_view::npos;
  if (within) at = kFromRight ? within->text.rfind(what) : within->text.find(what);
  if (at == std::string_view::npos) {
    ensure(!kMustBe, ErrorKind::BadInput, "{}(): substring not found", call.name);
    return Value::integer(-1);
  }
  return Value::integer(within->offset +
                        static_cast<std::int64_t>(count_characters(within->text.substr(0, at))));
}

Value count(const Call& call) {
  const Bound bound = call.bound({"sub", "start", "end"});
  const std::string what = needle(call, bound);
  const auto within = window(call, bound);
  if (!within) return Value::integer(0);
  if (what.empty()) return Value::integer(static_cast<std::int64_t>(count_characters(within->text)) + 1);
  std::int64_t found = 0;
  for (std::size_t at = 0; (at = within->text.find(what, at)) != std::string_view::npos; at += what.size())
    ++found;
  return Value::integer(found);
}

Value replace(const Call& call) {
  const Bound bound = call.bound({"old", "new", "count"});
  const auto side = [&](std::size_t index) {
    ensure(bound.require(index).is_string(), ErrorKind::BadInput, "replace() needs strings, not '{}'",
           type_name(bound.require(index)));
    return call.markup() ? as_markup(call.budget, bound.require(index)) : bound.require(index).as_string();
  };
  const std::string from = side(0);
  const std::string to = side(1);
  const std::int64_t most = bound.integer(2, -1);
  // Paid in advance: the most that can come out.
  const std::uint64_t places =
      from.empty() ? call.self.as_text().characters + 1 : call.text().size() / from.size() + 1;
  if (to.size() > from.size()) {
    std::uint64_t hits = from.empty() ? places : 0;
    if (!from.empty()) {
      for (std::size_t at = 0; (at = call.text().find(from, at)) != std::string::npos; at += from.size())
        ++hits;
    }
    call.budget.charge(hits * (to.size() - from.size()));
  }
  return call.string(replace_all(call.text(), from, to, most < 0 ? -1 : most));
}

Value join(const Call& call) {
  const Bound bound = call.bound({"iterable"});
  ensure(is_iterable(bound.require(0)), ErrorKind::BadInput, "join() needs something to walk over, not '{}'",
         type_name(bound.require(0)));
  std::string out;
  bool first = true;
  for (const Value& item : items_of(call.budget, bound.require(0))) {
    ensure(call.markup() || item.is_string(), ErrorKind::BadInput, "join() needs strings, found '{}'",
           type_name(item));
    const std::string piece = call.markup() ? as_markup(call.budget, item) : item.as_string();
    call.budget.charge(piece.size() + call.text().size());
    if (!first) out += call.text();
    first = false;
    out += piece;
  }
  return call.string(out);
}

template <std::string (*kChange)(std::string_view)>
Value change(const Call& call) {
  call.no_arguments();
  call.budget.charge(call.text().size() * 3);
  return call.string(kChange(call.text()));
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (const std::string_view piece : split_characters(text)) {
    std::size_t at = 0;
    out += is_cased_upper(next_character(piece, at)) ? to_lower(piece) : to_upper(piece);
  }
  return out;
}

template <bool (*kHolds)(char32_t)>
Value all_are(const Call& call) {
  call.no_arguments();
  const std::string& text = call.text();
  call.budget.step(text.size() / 16);
  for (std::size_t at = 0; at < text.size();) {
    if (!kHolds(next_character(text, at))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

bool is_alphanumeric(char32_t character) { return is_letter(character) || is_digit(character); }

template <bool (*kWanted)(char32_t), bool (*kUnwanted)(char32_t)>
Value is_case(const Call& call) {
  call.no_arguments();
  bool any = false;
  for (std::size_t at = 0; at < call.text().size();) {
    const char32_t character = next_character(call.text(), at);
    if (kUnwanted(character)) return Value::boolean(false);
    any = any || kWanted(character);
  }
  return Value::boolean(any);
}

template <bool kAtEnd>
Value remove_affix(const Call& call) {
  const Bound bound = call.bound({"affix"});
  const std::string affix = needle(call, bound);
  std::string_view text = call.text();
  if (kAtEnd && !affix.empty() && text.ends_with(affix)) text.remove_suffix(affix.size());
  if (!kAtEnd && text.starts_with(affix)) text.remove_prefix(affix.size());
  return call.string(text);
}

enum class Side : std::uint8_t { Left, Right, Center };
template <Side kSide>
Value justify(const Call& call) {
  const Bound bound = call.bound({"width", "fillchar"});
  const auto length = static_cast<std::int64_t>(call.self.as_text().characters);
  bound.require(0);
  const std::int64_t missing = std::max<std::int64_t>(bound.integer(0, 0) - length, 0);
  const std::string fill = bound.text(1).value_or(" ");
  ensure(count_characters(fill) == 1, ErrorKind::BadInput, "{}() fills with exactly one character",
         call.name);
  if (missing == 0) return call.string(call.text());
  call.budget.charge(static_cast<std::uint64_t>(missing) * 4);
  std::int64_t before = 0;
  if (kSide == Side::Right) before = missing;
  // Python puts the odd blank of center() on the left when the width is odd.
  if (kSide == Side::Center) before = missing / 2 + (missing & (length + missing) & 1);
  std::string out;
  for (std::int64_t i = 0; i < before; ++i) out += fill;
  out += call.text();
  for (std::int64_t i = before; i < missing; ++i) out += fill;
  return call.string(out);
}

Value zero_fill(const Call& call) {
  const Bound bound = call.bound({"width"});
  bound.require(0);
  const std::int64_t missing =
      bound.integer(0, 0) - static_cast<std::int64_t>(call.self.as_text().characters);
  if (missing <= 0) return call.string(call.text());
  call.budget.charge(static_cast<std::uint64_t>(missing));
  const std::string& text = call.text();
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return call.string(text.substr(0, sign) + std::string(static_cast<std::size_t>(missing), '0') +
                     text.substr(sign));
}

constexpr Method kStringMethods[] = {
    {"capitalize", change<capitalize>},
    {"casefold", change<to_lower>},
    {"center", justify<Side::Center>},
    {"count", count},
    {"endswith", has_affix<true>},
    {"find", find<false, false>},
    {"format", [](const Call& call) { return format_braces(call.budget, call.self, call.arguments); }},
    {"index", find<false, true>},
    {"isalnum", all_are<is_alphanumeric>},
    {"isalpha", all_are<is_letter>},
    {"isdecimal", all_are<is_digit>},
    {"isdigit", all_are<is_digit>},
    {"islower", is_case<is_cased_lower, is_cased_upper>},
    {"isnumeric", all_are<is_digit>},
    {"isspace", all_are<is_space>},
    {"isupper", is_case<is_cased_upper, is_cased_lower>},
    {"join", join},
    {"ljust", justify<Side::Left>},
    {"lower", change<to_lower>},
    {"lstrip", strip_ends<Ends::Left>},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace},
    {"rfind", find<true, false>},
    {"rindex", find<true, true>},
    {"rjust", justify<Side::Right>},
    {"rpartition", partition<true>},
    {"rsplit", split<true>},
    {"rstrip", strip_ends<Ends::Right>},
    {"split", split<false>},
    {"splitlines", split_into_lines},
    {"startswith", has_affix<false>},
    {"strip", strip_ends<Ends::Both>},
    {"swapcase", change<swap_case>},
    {"title", change<to_title>},
    {"upper", change<to_upper>},
    {"zfill", zero_fill},
};

// ---- mappings ----

Value view(const Call& call, List::Type type) {
  call.no_arguments();
  const auto& entries = call.self.as_mapping().entries();
  call.budget.charge_items(entries.size() * (type == List::Type::Items ? 4 : 1));
  List out{.items = {}, .type = type};
  for (const auto& [key, value] : entries) {
    if (type == List::Type::Keys) out.items.push_back(key);
    if (type == List::Type::Values) out.items.push_back(value);
    if (type == List::Type::Items) out.items.push_back(Value::tuple({key, value}));
  }
  return Value::list_like(std::move(out));
}

Value get(const Call& call) {
  const Bound bound = call.bound({"key", "default"});
  ensure(hash_key(bound.require(0)).has_value(), ErrorKind::BadInput,
         "a value of type {} cannot be the key of a mapping", type_name(bound.require(0)));
  const Value* found = call.self.as_mapping().find(bound.require(0));
  return found != nullptr ? *found : bound.get(1, Value::none());
}

Value copy(const Call& call) {
  call.no_arguments();
  return call.self;  // nobody can change either
}

constexpr Method kMappingMethods[] = {
    {"copy", copy},
    {"get", get},
    {"items", [](const Call& call) { return view(call, List::Type::Items); }},
    {"keys", [](const Call& call) { return view(call, List::Type::Keys); }},
    {"values", [](const Call& call) { return view(call, List::Type::Values); }},
};

// ---- lists and the loop ----

Value count_item(const Call& call) {
  const Bound bound = call.bound({"value"});
  std::int64_t found = 0;
  for (const Value& item : call.self.as_list().items) {
    if (equal(call.budget, item, bound.require(0))) ++found;
  }
  return Value::integer(found);
}

Value index_of_item(const Call& call) {
  const Bound bound = call.bound({"value"});
  const auto& items = call.self.as_list().items;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(call.budget, items[i], bound.require(0))) return Value::integer(static_cast<std::int64_t>(i));
  }
  fail(ErrorKind::BadInput, "index(): the value is not in the list");
}

constexpr Method kListMethods[] = {{"copy", copy}, {"count", count_item}, {"index", index_of_item}};
constexpr Method kTupleMethods[] = {{"count", count_item}, {"index", index_of_item}};

constexpr Method kLoopMethods[] = {
    {"changed",
     [](const Call& call) {
       return Value::boolean(call.self.as_loop().changed(
           call.arguments.positional,
           [&](const Value& a, const Value& b) { return equal(call.budget, a, b); }));
     }},
    {"cycle", [](const Call& call) { return call.self.as_loop().cycle(call.arguments.positional); }},
};

constexpr std::string_view kForbiddenOnMappings[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kForbiddenOnLists[] = {"append", "clear",  "extend",  "insert",
                                                  "pop",    "remove", "reverse", "sort"};

template <class Table>
const Method* search(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(std::begin(table), std::end(table), [&](const Method& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

const Method* find_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::String:
      return search(kStringMethods, name);
    case Kind::Mapping:
      return search(kMappingMethods, name);
    case Kind::Loop:
      return search(kLoopMethods, name);
    case Kind::List:
      if (object.as_list().type == List::Type::List) return search(kListMethods, name);
      if (object.as_list().type == List::Type::Tuple || object.as_list().type == List::Type::Range) {
        return search(kTupleMethods, name);
      }
      return nullptr;
    default:
      return nullptr;
  }
}

template <class Table>
bool named(const Table& table, std::string_view name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}

}  // namespace

MethodState method_of(const Value& object, std::string_view name) {
  if (find_method(object, name) != nullptr) return MethodState::Known;
  if (object.is_mapping() && named(kForbiddenOnMappings, name)) return MethodState::Forbidden;
  if (object.is_list() && object.as_list().type == List::Type::List && named(kForbiddenOnLists, name)) {
    return MethodState::Forbidden;
  }
  return MethodState::Unknown;
}

bool is_method_name(std::string_view name) {
  return search(kStringMethods, name) != nullptr || search(kMappingMethods, name) != nullptr ||
         search(kListMethods, name) != nullptr || search(kLoopMethods, name) != nullptr ||
         named(kForbiddenOnMappings, name) || named(kForbiddenOnLists, name);
}

Value call_method(Budget& budget, const Value& object, std::string_view name, const Arguments& arguments) {
  budget.step();
  const Method* method = find_method(object, name);
  ensure(method != nullptr, "method {} of {} was looked up but is not there", name, type_name(object));
  return method->apply({budget, object, name, arguments});
}

}  // namespace redline::text::jinja
