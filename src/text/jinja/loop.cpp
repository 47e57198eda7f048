// Taking items and answering loop.first, loop.last and the others.
#include "text/jinja/loop.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace redline::text::jinja {

bool Loop::peek() {
  if (index0_ + 1 < static_cast<std::int64_t>(taken_.size())) return true;
  while (next_source_ < source.size()) {
    const Value item = source[next_source_++];
    if (accepts && !accepts(item)) continue;
    taken_.push_back(item);
    return true;
  }
  return false;
}

bool Loop::advance() {
  if (!peek()) return false;
  ++index0_;
  return true;
}

std::int64_t Loop::length() {
  while (next_source_ < source.size()) {
    const Value item = source[next_source_++];
    if (!accepts || accepts(item)) taken_.push_back(item);
  }
  return std::max(closed_length_, static_cast<std::int64_t>(taken_.size()));
}

std::optional<Value> Loop::attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(length());
  if (name == "revindex") return Value::integer(length() - index0_);
  if (name == "revindex0") return Value::integer(length() - index0_ - 1);
  // Only recursive loops, which we do not have, are ever deeper.
  if (name == "depth") return Value::integer(1);
  if (name == "depth0") return Value::integer(0);
  if (name == "previtem") {
    return index0_ > 0 && !taken_.empty() ? taken_[static_cast<std::size_t>(index0_ - 1)]
                                          : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return peek() ? taken_[static_cast<std::size_t>(index0_ + 1)] : Value::undefined("there is no next item");
  }
  return std::nullopt;
}

bool Loop::changed(const std::vector<Value>& values,
                   const std::function<bool(const Value&, const Value&)>& equal) {
  bool same = last_changed_ && last_changed_->size() == values.size();
  for (std::size_t i = 0; same && i < values.size(); ++i) same = equal((*last_changed_)[i], values[i]);
  last_changed_ = values;
  return !same;
}

Value Loop::cycle(const std::vector<Value>& values) const {
  ensure(!values.empty(), ErrorKind::BadInput, "loop.cycle() needs something to cycle through");
  return values[static_cast<std::size_t>(index0_) % values.size()];
}

void Loop::close() {
  // Also what was taken, lest loops that hold loops make a chain too long to free.
  closed_length_ = static_cast<std::int64_t>(taken_.size());
  accepts = nullptr;
  source.clear();
  next_source_ = 0;
  taken_.clear();
  last_changed_.reset();
}

}  // namespace redline::text::jinja
