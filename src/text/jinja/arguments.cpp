// Binding by position, then by name.
#include "text/jinja/arguments.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/operators.hpp"

namespace redline::text::jinja {

Bound::Bound(std::string_view called, const Arguments& arguments,
             std::initializer_list<std::string_view> parameters)
    : called_(called), parameters_(parameters), values_(parameters.size()) {
  ensure(arguments.positional.size() <= parameters.size(), ErrorKind::BadInput,
         "{} takes at most {} arguments, not {}", called, parameters.size(), arguments.positional.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters_.begin(), parameters_.end(), name);
    ensure(found != parameters_.end(), ErrorKind::BadInput, "{} has no argument named '{}'", called, name);
    auto& slot = values_[static_cast<std::size_t>(found - parameters_.begin())];
    ensure(!slot.has_value(), ErrorKind::BadInput, "{} got its argument '{}' twice", called, name);
    slot = value;
  }
}

const Value& Bound::require(std::size_t index) const {
  ensure(values_[index].has_value(), ErrorKind::BadInput, "{} needs its argument '{}'", called_,
         parameters_[index]);
  return *values_[index];
}

Value Bound::get(std::size_t index, const Value& otherwise) const {
  return values_[index] ? *values_[index] : otherwise;
}

bool Bound::truth(std::size_t index, bool otherwise) const {
  return values_[index] ? is_true(*values_[index]) : otherwise;
}

std::int64_t Bound::integer(std::size_t index, std::int64_t otherwise) const {
  if (!values_[index]) return otherwise;
  const auto number = whole_number(*values_[index]);
  ensure(number.has_value(), ErrorKind::BadInput, "{}: argument '{}' is of type {}, expected an integer",
         called_, parameters_[index], type_name(*values_[index]));
  return *number;
}

std::optional<std::string> Bound::text(std::size_t index) const {
  if (!values_[index] || values_[index]->is_none()) return std::nullopt;
  ensure(values_[index]->is_string(), ErrorKind::BadInput,
         "{}: argument '{}' is of type {}, expected a string", called_, parameters_[index],
         type_name(*values_[index]));
  return values_[index]->as_string();
}

}  // namespace redline::text::jinja
