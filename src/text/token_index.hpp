// Finds a token's id by its bytes: an open-addressed table of ids over strings that lie elsewhere.
//
// A vocabulary has a quarter of a million entries and is looked up half a million times while merges are
// read, so slots are eight bytes (id and half of the hash) and only a likely hit looks at the string.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redline::text {

inline std::uint64_t mix_bits(
    std::uint64_t value) {  // Stafford's finaliser: all input bits reach all output bits
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15U;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = mix_bits(hash ^ word) + 0x9E3779B97F4A7C15U;
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  return mix_bits(hash ^ rest);
}

class TokenIndex {
 public:
  static constexpr std::int32_t kNone = -1;

  TokenIndex() = default;
  explicit TokenIndex(std::size_t expected) : slots_(std::bit_ceil(expected * 2 + 2), 0) {}

  // `text_of(id)` gives the bytes of an id already in the table. Returns the id that holds `bytes`
  // afterwards: another one than `id` when they were there before. At most `expected` insertions.
  template <class TextOf>
  std::int32_t insert(std::string_view bytes, std::int32_t id, const TextOf& text_of) {
    std::uint64_t* slot = slot_of(slots_, bytes, text_of);
    if (*slot == 0) *slot = tag_of(hash_bytes(bytes)) | static_cast<std::uint32_t>(id + 1);
    return static_cast<std::int32_t>(*slot & 0xFFFFFFFFU) - 1;
  }

  // Fetches the memory that find(bytes) will look at first.
  void prefetch(std::string_view bytes) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash_bytes(bytes) & (slots_.size() - 1)]);
  }

  template <class TextOf>
  std::int32_t find(std::string_view bytes, const TextOf& text_of) const {
    if (slots_.empty()) return kNone;
    return static_cast<std::int32_t>(*slot_of(slots_, bytes, text_of) & 0xFFFFFFFFU) - 1;
  }

 private:
  static std::uint64_t tag_of(std::uint64_t hash) { return hash & 0xFFFFFFFF00000000U; }

  template <class Slots, class TextOf>
  static auto slot_of(Slots& slots, std::string_view bytes, const TextOf& text_of) -> decltype(slots.data()) {
    const std::uint64_t hash = hash_bytes(bytes);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      auto* slot = &slots[i];
      if (*slot == 0) return slot;
      if (tag_of(*slot) != tag_of(hash)) continue;
      if (text_of(static_cast<std::int32_t>(*slot & 0xFFFFFFFFU) - 1) == bytes) return slot;
    }
  }

  std::vector<std::uint64_t> slots_;  // upper half: upper half of the hash; lower half: id + 1, 0 when free
};

}  // namespace redline::text
