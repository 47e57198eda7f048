// Splits an answer into what the model thinks and what it says, as it streams: everything before </think> is
// reasoning. An answer that ends before it is all reasoning. The result does not depend on how the text is
// cut into pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redline::text {

class ReasoningSplitter {  // one per answer
 public:
  struct Parts {
    std::string reasoning, content;
  };

  // `starts_inside`: the prompt ended with an open <think>. Otherwise an answer that begins with <think>
  // (white space before it aside) opens one itself, and any other is content from its first character.
  explicit ReasoningSplitter(bool starts_inside);

  Parts push(std::string_view text);
  Parts finish();  // what was held back because it could have become a tag

 private:
  enum class State : std::uint8_t { Start, Reasoning, Gap, Content };
  Parts advance(bool end);

  State state_;
  bool said_anything_ = false;  // reasoning: leading newlines are dropped
  std::string held_;
};

}  // namespace redline::text
