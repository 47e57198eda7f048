// The known answers that Random123 publishes (its file tests/kat_vectors, the lines "philox4x32 10"), and the
// helpers.
#include "core/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace redline {
namespace {

struct KnownAnswer {
  PhiloxBlock counter;
  std::uint32_t key_low, key_high;
  PhiloxBlock result;
};

constexpr KnownAnswer kKnown[] = {
    {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     0xffffffff,
     0xffffffff,
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     0xa4093822,
     0x299f31d0,
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

constexpr bool matches(const KnownAnswer& known) {
  const PhiloxBlock found = philox4x32_10(known.counter, known.key_low, known.key_high);
  for (int i = 0; i < 4; ++i) {
    if (found.words[i] != known.result.words[i]) return false;
  }
  return true;
}
static_assert(matches(kKnown[0]) && matches(kKnown[1]) && matches(kKnown[2]));

TEST(Philox, KnownAnswers) {
  for (const KnownAnswer& known : kKnown) EXPECT_TRUE(matches(known));
}

TEST(Philox, SeedPositionAndIndexSelectTheWord) {
  // The third known answer through the helper: the counter's words are block low, high, position low, high.
  const std::uint64_t seed = 0x299f31d0'a4093822, position = 0x03707344'13198a2e, block = 0x05a308d3'243f6a88;
  for (int word = 0; word < 4; ++word) {
    const PhiloxBlock expected =
        philox4x32_10({{0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0);
    EXPECT_EQ(random_bits(seed, position, block * 4 + static_cast<unsigned>(word)), expected.words[word]);
  }
  EXPECT_EQ(random_bits(0, 0, 0), 0x6627e8d5u);
  EXPECT_EQ(random_bits(0, 0, 3), 0x9b00dbd8u);
}

TEST(Philox, UniformIsTheUpperBitsAndBelowOne) {
  EXPECT_EQ(uniform_float(0, 0, 0), static_cast<float>(0x6627e8d5 >> 8) / 16777216.0f);
  // Mean of n uniforms: 1/2 with deviation sqrt(1/12n), so 5 deviations of a million are 0.00144.
  double sum = 0;
  float largest = 0, smallest = 1;
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const float value = uniform_float(7, 11, i);
    sum += value;
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
  }
  EXPECT_LT(largest, 1.0f);
  EXPECT_GE(smallest, 0.0f);
  EXPECT_NEAR(sum / 1e6, 0.5, 0.00144);
}

TEST(Philox, EveryInputMatters) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t high : {0ull, 1ull << 32}) {
    for (std::uint64_t low : {1ull, 2ull}) {
      seen.insert(random_bits(high + low, 0, 0));
      seen.insert(random_bits(0, high + low, 0));
      seen.insert(random_bits(0, 0, (high + low) * 4));
    }
  }
  EXPECT_EQ(seen.size(), 12u);
}

}  // namespace
}  // namespace redline
