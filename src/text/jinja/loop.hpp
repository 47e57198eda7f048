// The `loop` of a running for: where it is, and what comes before and after. Items are taken from the source
// one by one, since the filter of a for (`for x in y if …`) may look at what earlier rounds have changed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Loop {
  std::vector<Value> source;
  std::function<bool(const Value&)> accepts;  // empty: every item

  bool advance();  // to the next item; false at the end
  const Value& current() const { return taken_[static_cast<std::size_t>(index0_)]; }
  std::int64_t length();
  std::optional<Value> attribute(std::string_view name);
  bool changed(const std::vector<Value>& values,
               const std::function<bool(const Value&, const Value&)>& equal);
  Value cycle(const std::vector<Value>& values) const;
  void close();  // after the for: nothing is left to take and nothing held

 private:
  bool peek();  // whether there is a next item

  std::size_t next_source_ = 0;
  std::vector<Value>
      taken_;  // those accepted so far, at most one beyond the current unless length was asked for
  std::int64_t index0_ = -1;
  std::int64_t closed_length_ = 0;
  std::optional<std::vector<Value>> last_changed_;
};

}  // namespace redline::text::jinja
