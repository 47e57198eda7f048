// Widening against the formats' definitions in double, narrowing against a search for the nearest value in
// double, over all bf16 patterns, dense sweeps of floats and every tie with its neighbours.
#include "core/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace redline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Usable at compile time by GCC and clang.
static_assert(from_bf16(0x3f80) == 1.0f && to_bf16(1.00390625f) == 0x3f80);  // 1 + 2^-8: a tie, to even
static_assert(from_f16(0x7bff) == 65504.0f && to_f16(65520.0f) == 0x7c00 && from_f16(1) == 0x1p-24f);
static_assert(from_e4m3(0x7e) == 448.0f && from_e4m3(1) == 0x1p-9f && to_e4m3(1e9f) == 0x7e &&
              to_e4m3(-1e9f) == 0xfe);
static_assert(from_e2m1(0xf) == -6.0f && to_e2m1(2.5f) == 4 && to_e2m1(-0.25f) == 8);

// A small float format by its definition: `code` without sign.
double value_by_definition(int code, int mantissa_bits, int smallest_normal) {
  const int exponent = code >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(mantissa, smallest_normal - mantissa_bits);
  return std::ldexp((1 << mantissa_bits) + mantissa, smallest_normal + exponent - 1 - mantissa_bits);
}

std::vector<double> values_by_definition(int codes, int mantissa_bits, int smallest_normal) {
  std::vector<double> values;
  for (int code = 0; code < codes; ++code)
    values.push_back(value_by_definition(code, mantissa_bits, smallest_normal));
  return values;
}

// The code of the nearest value, ties to the even code; the last one for all that is larger.
int nearest_code(const std::vector<double>& values, double magnitude) {
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end()) return static_cast<int>(values.size()) - 1;
  const int code = static_cast<int>(above - values.begin());
  if (code == 0) return 0;
  const double up = *above - magnitude, down = magnitude - *(above - 1);
  if (up != down) return up < down ? code : code - 1;
  return code % 2 == 0 ? code : code - 1;
}

struct Format {
  const char* name;
  int mantissa_bits, smallest_normal, sign_shift;
  int codes;          // finite magnitudes
  bool has_infinity;  // then code `codes` is it, and its rounding border is where one more exponent would lie
  std::uint32_t (*encode)(float);
};

const Format kFormats[] = {
    {"bf16", 7, -126, 15, 0x7f80, true, [](float x) -> std::uint32_t { return to_bf16(x); }},
    {"f16", 10, -14, 15, 0x7c00, true, [](float x) -> std::uint32_t { return to_f16(x); }},
    {"e4m3", 3, -6, 7, 0x7f, false, [](float x) -> std::uint32_t { return to_e4m3(x); }},
    {"e2m1", 1, 0, 3, 8, false, [](float x) -> std::uint32_t { return to_e2m1(x); }},
};

class Narrowing : public testing::TestWithParam<Format> {
 protected:
  Narrowing()
      : values_(values_by_definition(GetParam().codes + (GetParam().has_infinity ? 1 : 0),
                                     GetParam().mantissa_bits, GetParam().smallest_normal)) {}

  // Both signs of a magnitude; reports the first few mismatches only.
  void check(float magnitude) {
    const auto expected = static_cast<std::uint32_t>(nearest_code(values_, magnitude));
    const std::uint32_t plus = GetParam().encode(magnitude), minus = GetParam().encode(-magnitude);
    ++checked_;
    if (plus == expected && minus == (expected | 1u << GetParam().sign_shift)) return;
    if (++wrong_ <= 5) {
      ADD_FAILURE() << GetParam().name << " of " << std::hexfloat << magnitude << ": " << std::hex << plus
                    << " and " << minus << ", expected " << expected;
    }
  }

  std::vector<double> values_;
  long checked_ = 0, wrong_ = 0;
};

TEST_P(Narrowing, AllBf16Patterns) {
  for (std::uint32_t pattern = 0; pattern <= 0x7f80; ++pattern) {
    check(std::bit_cast<float>(pattern << 16));  // up to and with infinity
  }
  EXPECT_EQ(wrong_, 0);
}

TEST_P(Narrowing, DenseSweepOfFloats) {
  // A prime step through all non-negative floats: 1.1 million of them, every binade alike.
  for (std::uint32_t bits = 0; bits <= 0x7f80'0000; bits += 1949) check(std::bit_cast<float>(bits));
  // And finer from half the smallest value to beyond the largest one.
  const float low = static_cast<float>(std::max(values_[1] / 4, 1e-45));
  const float high = static_cast<float>(std::min(values_.back() * 2, 3e38));
  const auto low_bits = std::bit_cast<std::uint32_t>(low), high_bits = std::bit_cast<std::uint32_t>(high);
  const std::uint32_t step = std::max(1u, (high_bits - low_bits) / 3'000'000) | 1;
  for (std::uint32_t bits = low_bits; bits < high_bits; bits += step) check(std::bit_cast<float>(bits));
  EXPECT_GT(checked_, 2'000'000);
  EXPECT_EQ(wrong_, 0);
}

TEST_P(Narrowing, EveryTieAndItsNeighbours) {
  for (std::size_t code = 0; code + 1 < values_.size(); ++code) {
    const double tie = (values_[code] + values_[code + 1]) / 2;
    for (double value : {values_[code], tie}) {
      const auto exact = static_cast<float>(value);
      if (static_cast<double>(exact) != value)
        continue;  // half of bf16's smallest steps still are floats; beyond is not
      for (float near : {std::nextafter(exact, 0.0f), exact, std::nextafter(exact, kInfinity)}) check(near);
    }
  }
  EXPECT_GE(checked_, 3 * (static_cast<long>(values_.size()) - 1));
  EXPECT_EQ(wrong_, 0);
}

INSTANTIATE_TEST_SUITE_P(Numbers, Narrowing, testing::ValuesIn(kFormats),
                         [](const auto& format) { return format.param.name; });

TEST(Numbers, WideningFollowsTheDefinition) {
  const std::vector<double> bf16 = values_by_definition(0x7f80, 7, -126),
                            f16 = values_by_definition(0x7c00, 10, -14),
                            e4m3 = values_by_definition(0x7f, 3, -6), e2m1 = values_by_definition(8, 1, 0);
  for (std::uint32_t c = 0; c < 0x7f80; ++c) {
    ASSERT_EQ(from_bf16(static_cast<std::uint16_t>(c)), bf16[c]) << c;
    ASSERT_EQ(from_bf16(static_cast<std::uint16_t>(c | 0x8000)), -bf16[c]) << c;
  }
  for (std::uint32_t c = 0; c < 0x7c00; ++c) {
    ASSERT_EQ(from_f16(static_cast<std::uint16_t>(c)), f16[c]) << c;
    ASSERT_EQ(from_f16(static_cast<std::uint16_t>(c | 0x8000)), -f16[c]) << c;
  }
  for (std::uint32_t c = 0; c < 0x7f; ++c) {
    ASSERT_EQ(from_e4m3(static_cast<std::uint8_t>(c)), e4m3[c]) << c;
    ASSERT_EQ(from_e4m3(static_cast<std::uint8_t>(c | 0x80)), -e4m3[c]) << c;
  }
  for (std::uint32_t c = 0; c < 8; ++c) {
    ASSERT_EQ(from_e2m1(static_cast<std::uint8_t>(c)), e2m1[c]) << c;
    ASSERT_EQ(from_e2m1(static_cast<std::uint8_t>(c | 8)), -e2m1[c]) << c;
    ASSERT_EQ(from_e2m1(static_cast<std::uint8_t>(c | 0xf0)), e2m1[c]) << "only the low four bits count";
  }
  EXPECT_EQ(e4m3.back(), 448.0);
  EXPECT_EQ(e4m3[1], std::ldexp(1, -9));
  EXPECT_EQ(e2m1, (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
}

TEST(Numbers, RoundTripKeepsEveryCode) {
  for (std::uint32_t c = 0; c < 0x10000; ++c) {
    const auto code = static_cast<std::uint16_t>(c);
    if (!std::isnan(from_bf16(code))) {
      ASSERT_EQ(to_bf16(from_bf16(code)), code);
    }
    if (!std::isnan(from_f16(code))) {
      ASSERT_EQ(to_f16(from_f16(code)), code);
    }
  }
  for (std::uint32_t c = 0; c < 256; ++c) ASSERT_EQ(to_e4m3(from_e4m3(static_cast<std::uint8_t>(c))), c);
  for (std::uint32_t c = 0; c < 16; ++c) ASSERT_EQ(to_e2m1(from_e2m1(static_cast<std::uint8_t>(c))), c);
}

TEST(Numbers, SignsOfZerosAreKept) {
  EXPECT_EQ(to_bf16(-0.0f), 0x8000);
  EXPECT_EQ(to_f16(-1e-30f), 0x8000);
  EXPECT_EQ(to_e4m3(-0.0f), 0x80);
  EXPECT_EQ(to_e4m3(-1e-30f), 0x80);
  EXPECT_EQ(to_e2m1(-0.0f), 8);
  EXPECT_TRUE(std::signbit(from_e2m1(8)));
  EXPECT_TRUE(std::signbit(from_e4m3(0x80)));
  EXPECT_TRUE(std::signbit(from_f16(0x8000)));
}

TEST(Numbers, WhatHasNoFiniteCode) {
  EXPECT_EQ(to_bf16(kInfinity), 0x7f80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_f16(-kInfinity), 0xfc00);
  EXPECT_EQ(to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(from_f16(0x7c00), kInfinity);
  EXPECT_EQ(to_e4m3(kInfinity), 0x7e);
  EXPECT_EQ(to_e4m3(-kInfinity), 0xfe);
  EXPECT_EQ(to_e2m1(kInfinity), 7);
  EXPECT_EQ(to_e2m1(-kInfinity), 15);
}

TEST(Numbers, NanStaysNanWhereTheFormatHasOne) {
  for (std::uint32_t payload : {1u, 0x1000u, 0x40'0000u, 0x7f'ffffu}) {
    for (std::uint32_t sign : {0u, 0x8000'0000u}) {
      const float nan = std::bit_cast<float>(sign | 0x7f80'0000 | payload);
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(nan)))) << payload;
      EXPECT_TRUE(std::isnan(from_f16(to_f16(nan)))) << payload;
      EXPECT_EQ(to_bf16(nan) >> 15, sign >> 31);
      EXPECT_EQ(to_e4m3(nan), sign != 0 ? 0xff : 0x7f);
      EXPECT_EQ(to_e2m1(nan), 7);
    }
  }
  for (int code : {0x7f, 0xff}) EXPECT_TRUE(std::isnan(from_e4m3(static_cast<std::uint8_t>(code))));
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(kNan))));
}

TEST(Numbers, TiePointsOfTheSpecification) {
  const std::pair<float, float> ties[] = {{0.25f, 0}, {0.75f, 1}, {1.25f, 1}, {1.75f, 2},
                                          {2.5f, 2},  {3.5f, 4},  {5, 4}};
  for (const auto& [tie, rounded] : ties) {
    EXPECT_EQ(from_e2m1(to_e2m1(tie)), rounded) << tie;
    EXPECT_EQ(from_e2m1(to_e2m1(-tie)), -rounded) << tie;
  }
}

}  // namespace
}  // namespace redline
