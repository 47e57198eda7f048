// The global functions.
#include "text/jinja/functions.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/operators.hpp"

namespace redline::text::jinja {
namespace {

constexpr std::string_view kNames[] = {"dict", "namespace", "raise_exception", "range", "strftime_now"};
constexpr std::int64_t kMostRange = 100'000;  // as in the sandbox that templates are written for

Value range(Budget& budget, const Arguments& arguments) {
  const auto& given = arguments.positional;
  ensure(arguments.named.empty() && !given.empty() && given.size() <= 3, ErrorKind::BadInput,
         "range() takes one to three integers");
  std::int64_t numbers[3] = {0, 0, 1};
  for (std::size_t i = 0; i < given.size(); ++i) {
    refuse_undefined(given[i]);
    const auto whole = whole_number(given[i]);
    ensure(whole.has_value(), ErrorKind::BadInput, "range() takes integers, not '{}'", type_name(given[i]));
    numbers[given.size() == 1 ? 1 : i] = *whole;
  }
  const auto [start, stop, step] = numbers;
  ensure(step != 0, ErrorKind::BadInput, "the step of range() is zero");
  const bool up = step > 0;
  const std::uint64_t span = up ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t stride =
      up ? static_cast<std::uint64_t>(step) : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  const std::uint64_t count = (up ? start < stop : stop < start) ? (span - 1) / stride + 1 : 0;
  ensure(count <= static_cast<std::uint64_t>(kMostRange), ErrorKind::BadInput,
         "Range too big: more than {} items", kMostRange);
  budget.charge_items(count);
  List list{.items = {}, .type = List::Type::Range, .start = start, .stop = stop, .step = step};
  std::int64_t value = start;
  for (std::uint64_t i = 0; i < count; ++i) {
    list.items.push_back(Value::integer(value));
    if (i + 1 < count) value += step;
  }
  return Value::list_like(std::move(list));
}

// dict(...) and namespace(...): a mapping or a list of pairs, then named values.
Mapping mapping_from(Budget& budget, std::string_view called, const Arguments& arguments) {
  Mapping out;
  ensure(arguments.positional.size() <= 1, ErrorKind::BadInput,
         "{}() takes at most one argument without a name", called);
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_mapping()) {
      budget.charge_items(source.as_mapping().size() * 2);
      out = source.as_mapping();
    } else {
      for (const Value& pair : items_of(budget, source)) {
        const std::vector<Value> two = items_of(budget, pair);
        ensure(two.size() == 2, ErrorKind::BadInput, "{}() needs pairs, found {} items", called, two.size());
        out.set(two[0], two[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) out.set(name, value);
  return out;
}

std::string time_text(const std::tm& time, const std::string& format) {
  ensure(format.size() <= 1000, ErrorKind::BadInput, "strftime_now: a format of {} bytes is longer than 1000",
         format.size());
  if (format.empty()) return {};
  std::string out(format.size() * 64 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &time));
  return out;
}

}  // namespace

bool is_function(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value call_function(FunctionContext context, std::string_view name, const Arguments& arguments) {
  context.budget.step();
  if (name == "range") return range(context.budget, arguments);
  if (name == "dict") return Value::mapping(mapping_from(context.budget, name, arguments));
  if (name == "namespace") {
    Mapping attributes = mapping_from(context.budget, name, arguments);
    for (const auto& [key, value] : attributes.entries()) {
      ensure(key.is_string() && !key.as_string().starts_with('_'), ErrorKind::BadInput,
             "the attributes of a namespace are names that do not begin with _");
    }
    return Value::name_space(std::make_shared<Namespace>(Namespace{std::move(attributes)}));
  }
  if (name == "raise_exception") {
    const Bound bound(name, arguments, {"message"});
    const std::string message = text_of(context.budget, bound.require(0));
    context.raised = true;
    fail(ErrorKind::BadInput, "{}", message);
  }
  const Bound bound(name, arguments, {"format"});
  ensure(context.now.has_value(), ErrorKind::BadInput,
         "strftime_now: the time was not given to this rendering");
  return make_string(context.budget, time_text(*context.now, bound.text(0).value_or("")));
}

}  // namespace redline::text::jinja
