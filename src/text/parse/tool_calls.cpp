// A machine over held text, as reasoning.cpp: only an end of it that could still become a tag, or that may be
// trimmed, stays held.
#include "text/parse/tool_calls.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace redline::text {
namespace {

constexpr std::string_view kOpenCall = "<tool_call>", kCloseCall = "</tool_call>";
constexpr std::string_view kOpenFunction = "<function=", kCloseFunction = "</function>";
constexpr std::string_view kOpenParameter = "<parameter=", kCloseParameter = "</parameter>";
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::size_t kLongestName = 256;  // bytes; what is longer is no name

// Tags that end a value where they begin a line.
constexpr std::array<std::string_view, 3> kLineEnders{"\n</function>", "\n</tool_call>", "\n<parameter="};

// Length of the longest proper prefix of `tag` that `text` ends with.
std::size_t possible_start(std::string_view text, std::string_view tag) {
  for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n) {
    if (text.ends_with(tag.substr(0, n))) return n;
  }
  return 0;
}

std::size_t space_before(std::string_view text, std::size_t end) {
  while (end > 0 && kSpace.find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

}  // namespace

ToolCallParser::ToolCallParser(std::shared_ptr<const ToolTypes> types) : types_(std::move(types)) {}

std::vector<AnswerPart> ToolCallParser::push(std::string_view text) {
  held_ += text;
  advance(false);
  return std::exchange(out_, {});
}

std::vector<AnswerPart> ToolCallParser::finish() {
  advance(true);
  if (state_ == State::Value) end_value();
  if (state_ == State::Value || state_ == State::Function) end_call();
  state_ = State::Content;
  held_.clear();
  return std::exchange(out_, {});
}

void ToolCallParser::advance(bool end) {
  bool more = true;
  while (more) {
    switch (state_) {
      case State::Content:
        more = in_content(end);
        break;
      case State::Gap:
        more = in_gap();
        break;
      case State::Call:
        more = in_call(end);
        break;
      case State::Function:
        more = in_function(end);
        break;
      case State::Value:
        more = in_value(end);
        break;
      case State::Closing:
        more = in_closing(end);
        break;
    }
  }
}

bool ToolCallParser::in_content(bool end) {
  const std::size_t open = held_.find(kOpenCall);
  std::size_t shown = open;
  if (open == std::string::npos) shown = held_.size() - (end ? 0 : possible_start(held_, kOpenCall));
  if (open != std::string::npos || !end) shown = space_before(held_, shown);
  emit(AnswerPart::Kind::Content, std::string_view(held_).substr(0, shown));
  held_.erase(0, shown);
  if (open == std::string::npos) return false;
  state_ = State::Call;
  return true;
}

// Behind a call.
bool ToolCallParser::in_gap() {
  held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
  if (held_.empty()) return false;
  state_ = State::Content;
  return true;
}

// held_ begins with white space and <tool_call>, which are kept until a function makes a call of it.
bool ToolCallParser::in_call(bool end) {
  const std::string_view held = held_;
  const std::size_t inside = held.find(kOpenCall) + kOpenCall.size();
  const std::size_t first = std::min(held.find_first_not_of(kSpace, inside), held.size());
  const std::string_view rest = held.substr(first);
  bool is_call = false;
  if (rest.starts_with(kOpenFunction)) {
    const std::string_view behind = rest.substr(kOpenFunction.size());
    const std::size_t close = behind.find_first_of(">\n<");
    if (close == std::string_view::npos && behind.size() <= kLongestName && !end) return false;
    is_call = close != std::string_view::npos && close > 0 && close <= kLongestName && behind[close] == '>';
    if (is_call) {
      function_ = behind.substr(0, close);
      held_.erase(0, first + kOpenFunction.size() + close + 1);
    }
  } else if (kOpenFunction.starts_with(rest) && !end) {
    return false;
  }
  if (!is_call) {
    emit(AnswerPart::Kind::Content, held.substr(0, inside));
    held_.erase(0, inside);
    state_ = State::Content;
    return true;
  }
  ++calls_;
  keys_.clear();
  emit(AnswerPart::Kind::CallBegin, function_);
  emit(AnswerPart::Kind::Arguments, "{");
  state_ = State::Function;
  return true;
}

bool ToolCallParser::in_function(bool end) {
  const std::size_t tag = std::min(held_.find('<'), held_.size());
  held_.erase(0, tag);
  const std::string_view held = held_;
  if (held.empty()) return false;
  for (const std::string_view known : {kOpenParameter, kCloseFunction, kCloseCall, kOpenCall}) {
    if (held.size() < known.size() && known.starts_with(held) && !end) return false;
  }
  if (held.starts_with(kOpenParameter)) {
    const std::string_view behind = held.substr(kOpenParameter.size());
    const std::size_t close = behind.find_first_of(">\n<");
    if (close == std::string_view::npos && behind.size() <= kLongestName && !end) return false;
    const bool named =
        close != std::string_view::npos && close > 0 && close <= kLongestName && behind[close] != '<';
    if (named) begin_value(behind.substr(0, close));
    // A newline that ended the name is the one before the value, too.
    held_.erase(0, kOpenParameter.size() + (named ? close + (behind[close] == '>' ? 1 : 0) : 0));
    return true;
  }
  if (held.starts_with(kCloseFunction)) {
    held_.erase(0, kCloseFunction.size());
    end_call();
    state_ = State::Closing;
  } else if (held.starts_with(kCloseCall) || held.starts_with(kOpenCall)) {
    end_call();
    state_ = State::Closing;
  } else {
    held_.erase(0, 1);
  }
  return true;
}

// Behind the last function of a call.
bool ToolCallParser::in_closing(bool end) {
  held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
  const std::string_view held = held_;
  if (held.empty()) return false;
  for (const std::string_view known : {kCloseCall, kOpenFunction}) {
    if (held.size() < known.size() && known.starts_with(held) && !end) return false;
  }
  state_ = State::Content;
  if (held.starts_with(kCloseCall)) {
    held_.erase(0, kCloseCall.size());
    state_ = State::Gap;
  } else if (held.starts_with(kOpenFunction)) {
    held_.insert(0, kOpenCall);
    state_ = State::Call;
  }
  return true;
}

bool ToolCallParser::in_value(bool end) {
  if (held_.empty()) return false;
  if (at_start_ && held_.front() != '\n') held_.insert(0, 1, '\n');  // a tag here begins a line
  const std::size_t begin = at_start_ ? 1 : 0;
  std::size_t tag = held_.find(kCloseParameter);
  std::size_t behind = tag == std::string::npos ? tag : tag + kCloseParameter.size();
  for (const std::string_view ender : kLineEnders) {
    if (const std::size_t found = held_.find(ender); found < tag) behind = tag = found + 1;
  }
  if (tag != std::string::npos) {
    const std::size_t last = tag > begin && held_[tag - 1] == '\n' ? tag - 1 : tag;
    add_to_value(std::string_view(held_).substr(begin, last - begin));
    end_value();
    held_.erase(0, behind);
    state_ = State::Function;
    return true;
  }
  std::size_t held_back = 0;
  if (!end) {
    held_back = std::max(possible_start(held_, kCloseParameter), possible_start(held_, "\n</parameter>"));
    for (const std::string_view ender : kLineEnders)
      held_back = std::max(held_back, possible_start(held_, ender));
  }
  const std::size_t shown = held_.size() - held_back;
  if (shown < begin) return false;
  add_to_value(std::string_view(held_).substr(begin, shown - begin));
  if (shown > 0) at_start_ = false;
  held_.erase(0, shown);
  return false;
}

void ToolCallParser::emit(AnswerPart::Kind kind, std::string_view text) {
  if (text.empty()) return;
  const int call = kind == AnswerPart::Kind::Content ? -1 : calls_ - 1;
  if (!out_.empty() && out_.back().kind == kind && kind != AnswerPart::Kind::CallBegin) {
    out_.back().text += text;
  } else {
    out_.push_back({kind, call, std::string(text)});
  }
}

void ToolCallParser::begin_value(std::string_view key) {
  const bool first = keys_.empty();
  state_ = State::Value;
  at_start_ = true;
  dropped_ = !keys_.emplace(key).second;
  value_.clear();
  if (dropped_) return;
  value_types_ = types_->of(function_, key);
  streams_ = value_types_ == ToolTypes::kString;
  std::string json = first ? "\"" : ", \"";
  append_json_escaped(json, key);
  json += streams_ ? "\": \"" : "\": ";
  emit(AnswerPart::Kind::Arguments, json);
}

void ToolCallParser::add_to_value(std::string_view text) {
  if (dropped_) return;
  if (!streams_) {
    value_ += text;
    return;
  }
  std::string json;
  append_json_escaped(json, text);
  emit(AnswerPart::Kind::Arguments, json);
}

void ToolCallParser::end_value() {
  if (!dropped_) emit(AnswerPart::Kind::Arguments, streams_ ? "\"" : json_of_parameter(value_, value_types_));
}

void ToolCallParser::end_call() { emit(AnswerPart::Kind::Arguments, "}"); }

}  // namespace redline::text
