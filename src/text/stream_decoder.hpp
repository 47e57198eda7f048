// Token ids to text as they arrive: whole characters only, and in the end exactly what Tokenizer::decode
// gives.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace redline::text {

class StreamDecoder {  // one per answer
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = false)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  std::string push(std::int32_t id);  // the characters that this token completes
  std::string finish();               // U+FFFD when the answer ended inside a character

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  Utf8Repair repair_;
};

}  // namespace redline::text
