// The arguments of a call, and binding them to parameter names as Python does.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  bool empty() const { return positional.empty() && named.empty(); }
};

// Arguments under their parameters' names. Throws BadInput for too many, unknown and doubly given ones.
class Bound {
 public:
  Bound(std::string_view called, const Arguments& arguments,
        std::initializer_list<std::string_view> parameters);

  bool has(std::size_t index) const { return values_[index].has_value(); }
  const Value& require(std::size_t index) const;
  Value get(std::size_t index, const Value& otherwise) const;
  bool truth(std::size_t index, bool otherwise) const;
  std::int64_t integer(std::size_t index, std::int64_t otherwise) const;
  std::optional<std::string> text(std::size_t index) const;  // none counts as not given

 private:
  std::string_view called_;
  std::vector<std::string_view> parameters_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace redline::text::jinja
