// Finds tool calls in an answer as it streams and gives their arguments as JSON, typed by the tools' schemas.
//
//   <tool_call>⏎<function=NAME>⏎<parameter=KEY>⏎VALUE⏎</parameter>⏎</function>⏎</tool_call>
//
// Text before and behind calls is content; white space between it and a call is dropped. One newline at each
// end of a value belongs to the tags. The result does not depend on how the answer is cut into pieces.
//
// Where a model strays from the form:
//   a closing tag is missing           the next tag of the form at the start of a line closes what is open
//   the answer ends inside a call      the call ends there, with what has come
//   no > behind the name of a parameter, only the end of the line: that ends the name
//   a stray closing tag, text between parameters, a parameter a second time: dropped
//   several functions in one <tool_call>: several calls
//   text behind </function> instead of </tool_call>: content
//   <tool_call> without <function=…>   is content, as it was written
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/parse/tool_types.hpp"

namespace redline::text {

struct AnswerPart {
  enum class Kind : std::uint8_t { Content, CallBegin, Arguments };
  Kind kind = Kind::Content;
  int call = -1;     // 0 for the first call of the answer
  std::string text;  // content; the function's name; more of the arguments' JSON
};

class ToolCallParser {  // one per answer
 public:
  explicit ToolCallParser(std::shared_ptr<const ToolTypes> types);

  std::vector<AnswerPart> push(std::string_view text);
  std::vector<AnswerPart> finish();  // what was held back, and the end of a call that is still open
  int calls() const { return calls_; }

 private:
  enum class State : std::uint8_t { Content, Gap, Call, Function, Value, Closing };

  // Each consumes from held_ and returns whether the next state can go on with the rest.
  bool in_content(bool end);
  bool in_gap();
  bool in_call(bool end);
  bool in_function(bool end);
  bool in_value(bool end);
  bool in_closing(bool end);

  void emit(AnswerPart::Kind kind, std::string_view text);
  void begin_value(std::string_view key);
  void add_to_value(std::string_view text);
  void end_value();
  void end_call();
  void advance(bool end);

  std::shared_ptr<const ToolTypes> types_;
  State state_ = State::Content;
  std::string held_;
  std::vector<AnswerPart> out_;
  int calls_ = 0;

  // The open call.
  std::string function_;
  std::set<std::string, std::less<>> keys_;

  // The open value. Strings go out as they come; what may be another type waits for its end.
  bool dropped_ = false, streams_ = false;
  bool at_start_ = false;  // held_ begins with the newline before the value, once anything has come
  unsigned value_types_ = 0;
  std::string value_;
};

}  // namespace redline::text
