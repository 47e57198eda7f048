// What is asked of the engine and what it gives back: token ids in, token ids out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace redline::runtime {

struct Sampling {
  float temperature = 1;                              // 0: always the most likely token
  std::int32_t top_k = 0;                             // 0: off
  float top_p = 1;                                    // 1: off
  float min_p = 0;                                    // 0: off
  float presence_penalty = 0, frequency_penalty = 0;  // 0: off
  float repetition_penalty = 1;                       // 1: off
  std::uint64_t seed = 0;
};

struct Request {
  std::vector<std::int32_t> prompt;
  Sampling sampling;
  std::int64_t max_tokens = 0;         // of the answer
  std::vector<std::int32_t> stop_ids;  // an answer ends with one of these, which is part of it
  std::int32_t vocabulary = 0;  // ids from here on are never drawn: padding that no text has; 0: all may be
  int drafts = 0;               // guesses of the draft head to verify with each step; 0: none
};

enum class StopReason : std::uint8_t {
  Stop,    // a stop id
  Length,  // max_tokens, or the context is full
  Caller,  // whoever receives the tokens had enough
};

struct Answer {
  std::vector<std::int32_t> tokens;
  StopReason reason = StopReason::Length;
  double prompt_seconds = 0, decode_seconds = 0;  // decode_seconds: from the first token to the last
  std::int64_t steps = 0;                         // decode steps, drafts or not
  std::vector<std::int64_t> drafted, accepted;    // [drafts] by position
};

}  // namespace redline::runtime
