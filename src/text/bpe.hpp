// Byte-pair encoding of one word: start from its bytes, join the neighbours whose merge has the lowest rank
// (the leftmost of equals) until none is left. Immutable after construction, so any number of threads may use
// one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace redline::text {

struct Merge {  // its rank is its place in the list
  std::int32_t left, right;
  std::int32_t result;
};

class Bpe {
 public:
  // byte_ids: the token of each single byte, -1 where there is none (only for bytes that UTF-8 never
  // contains).
  Bpe(const std::array<std::int32_t, 256>& byte_ids, std::span<const Merge> merges);

  void encode(std::string_view word, std::vector<std::int32_t>& out) const;

 private:
  struct Join {
    std::uint32_t rank = kNoRank;
    std::int32_t result = -1;
  };
  struct Slot {
    std::uint64_t pair;  // left id, right id
    Join join;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

  Join find(std::int32_t left, std::int32_t right) const;
  void encode_short(std::string_view word, std::vector<std::int32_t>& out) const;
  void encode_long(std::string_view word, std::vector<std::int32_t>& out) const;

  std::array<std::int32_t, 256> byte_ids_;
  std::vector<Slot> slots_;       // open-addressed, at most half full
  std::vector<Join> first_join_;  // [128, 128] of ASCII neighbours: the first question of every word
};

}  // namespace redline::text
