// A small machine over held text: only an end of it that could still be the start of a tag, or white space
// that may be trimmed, stays held.
#include "text/parse/reasoning.hpp"

#include <algorithm>

namespace redline::text {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

// Length of the longest proper prefix of `tag` that `text` ends with.
std::size_t possible_start(std::string_view text, std::string_view tag) {
  for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n) {
    if (text.ends_with(tag.substr(0, n))) return n;
  }
  return 0;
}

std::size_t spaces_at_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

}  // namespace

ReasoningSplitter::ReasoningSplitter(bool starts_inside)
    : state_(starts_inside ? State::Reasoning : State::Start) {}

ReasoningSplitter::Parts ReasoningSplitter::push(std::string_view text) {
  held_ += text;
  return advance(false);
}

ReasoningSplitter::Parts ReasoningSplitter::finish() { return advance(true); }

ReasoningSplitter::Parts ReasoningSplitter::advance(bool end) {
  Parts out;
  if (state_ == State::Start) {
    const std::size_t first = std::min(held_.find_first_not_of(kSpace), held_.size());
    const std::string_view rest = std::string_view(held_).substr(first);
    if (rest.starts_with(kOpen)) {
      held_.erase(0, first + kOpen.size());
      state_ = State::Reasoning;
    } else if (kOpen.starts_with(rest) && !end) {
      return out;
    } else {
      state_ = State::Content;
    }
  }
  if (state_ == State::Reasoning) {
    if (!said_anything_) held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
    const std::size_t close = held_.find(kClose);
    std::size_t upto = close;
    if (close == std::string::npos) upto = held_.size() - (end ? 0 : possible_start(held_, kClose));
    std::string_view thought = std::string_view(held_).substr(0, upto);
    // White space before the tag belongs to neither part; without a tag behind it, it may still turn out to
    // be inside.
    thought.remove_suffix(spaces_at_end(thought));
    out.reasoning = thought;
    said_anything_ = said_anything_ || !thought.empty();
    if (close != std::string::npos) {
      held_.erase(0, close + kClose.size());
      state_ = State::Gap;
    } else {
      held_.erase(0, thought.size());
      if (end) held_.clear();
      return out;
    }
  }
  if (state_ == State::Gap) {
    held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
    if (held_.empty()) return out;
    state_ = State::Content;
  }
  out.content += held_;
  held_.clear();
  return out;
}

}  // namespace redline::text
