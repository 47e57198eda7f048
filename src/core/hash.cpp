// XXH64: four lanes over stripes of 32 bytes, merged, then the tail by 8, 4 and 1 bytes, then an avalanche.
#include "core/hash.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace redline {
namespace {

static_assert(std::endian::native == std::endian::little,
              "XXH64 and safetensors are little-endian; so is all of redline");

// The five primes of the specification.
constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                        kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                        kPrime5 = 0x27D4EB2F165667C5;

template <class Word>
Word load(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = seed + kPrime5;
  if (left >= 32) {
    std::array<std::uint64_t, 4> lanes{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; left >= 32; left -= 32, at += 32) {
      for (std::size_t lane = 0; lane < 4; ++lane)
        lanes[lane] = round(lanes[lane], load<std::uint64_t>(at + 8 * lane));
    }
    hash =
        std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (std::uint64_t lane : lanes) hash = merge(hash, lane);
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    left -= 4;
    at += 4;
  }
  for (; left > 0; --left, ++at)
    hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_tokens(std::span<const std::int32_t> tokens, std::uint64_t before) {
  return hash_bytes(std::as_bytes(tokens), before);
}

}  // namespace redline
