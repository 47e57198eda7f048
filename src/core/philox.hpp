// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as
// easy as 1, 2, 3", 2011): a number depends on its seed and its place alone, so host and GPU, one rank and
// eight, a batch and a single request draw the same ones. Device code includes this file; it includes no CUDA
// header and no heavy one.
#pragma once

#include <cstdint>

// nvcc needs the two words on each function that both sides call, and no other compiler knows them.
#if defined(__CUDACC__)
#define REDLINE_BOTH_SIDES __host__ __device__
#else
#define REDLINE_BOTH_SIDES
#endif

namespace redline {

struct PhiloxBlock {
  std::uint32_t words[4];  // not std::array: its operator[] cannot be called on a GPU
};

REDLINE_BOTH_SIDES constexpr PhiloxBlock philox4x32_10(PhiloxBlock counter, std::uint32_t key_low,
                                                       std::uint32_t key_high) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53,
                          kMultiplier1 = 0xCD9E8D57;  // found by the authors' search
  constexpr std::uint32_t kGoldenRatio = 0x9E3779B9, kRootOfThreeLessOne = 0xBB67AE85;  // key steps
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter.words[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter.words[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.words[1] ^ key_low,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.words[3] ^ key_high,
                static_cast<std::uint32_t>(product0)}};
    key_low += kGoldenRatio;
    key_high += kRootOfThreeLessOne;
  }
  return counter;
}

// 32 random bits: number `index` of the many that (seed, position) may draw. The seed is the key; position
// and index / 4 are the counter.
REDLINE_BOTH_SIDES constexpr std::uint32_t random_bits(std::uint64_t seed, std::uint64_t position,
                                                       std::uint64_t index) {
  const std::uint64_t block = index >> 2;
  const PhiloxBlock numbers =
      philox4x32_10({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                      static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32)}},
                    static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return numbers.words[index & 3];
}

// In [0, 1): the upper 24 bits times 2^-24. Every value is exact in float, so 1 itself cannot come out of
// rounding.
REDLINE_BOTH_SIDES constexpr float uniform_float(std::uint64_t seed, std::uint64_t position,
                                                 std::uint64_t index) {
  return static_cast<float>(random_bits(seed, position, index) >> 8) * 0x1p-24f;
}

}  // namespace redline

#undef REDLINE_BOTH_SIDES
