// Blocks of sixteen floats: what the row operators' CPU candidates compute in. Every loop over a block has a
// constant count, so that GCC turns it into vector code at -O2 as well; a block's values lie in a local
// array, which no pointer can alias. All is in an unnamed namespace: each candidate gets its own copy,
// compiled for its own CPU level. What stands in inner loops must be inlined, or they stay scalar: GCC at -O2
// would not by itself.
#pragma once

#include <cstdint>

#include "core/tensor.hpp"

namespace redline::ops {
namespace {

constexpr int kLanes = 16;

// A row of BF16 or F32 elements, one after another.
struct Row {
  void* data = nullptr;
  bool narrow = false;  // BF16
};

inline bool is_row_type(DType dtype) { return dtype == DType::BF16 || dtype == DType::F32; }

inline Row row_at(const TensorView& view, std::int64_t offset) {
  const bool narrow = view.dtype == DType::BF16;
  return {static_cast<char*>(view.data) + offset * (narrow ? 2 : 4), narrow};
}

[[gnu::always_inline]] inline float widened(std::uint16_t code) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(code) << 16);
}

// To nearest even; a NaN stays one. Signed comparison: vector units have no unsigned one.
[[gnu::always_inline]] inline std::uint16_t narrowed(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const bool nan = static_cast<std::int32_t>(bits & 0x7fffffff) > 0x7f800000;
  const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>((nan ? bits | 0x400000 : rounded) >> 16);
}

// Elements [at, at + count) of the row; zeros behind them.
inline void load_block(const Row& row, std::int64_t at, std::int64_t count, float* out) {
  if (count < kLanes) {
    for (int j = 0; j < kLanes; ++j) out[j] = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      out[j] = row.narrow ? widened(static_cast<const std::uint16_t*>(row.data)[at + j])
                          : static_cast<const float*>(row.data)[at + j];
    }
  } else if (row.narrow) {
    const std::uint16_t* from = static_cast<const std::uint16_t*>(row.data) + at;
    for (int j = 0; j < kLanes; ++j) out[j] = widened(from[j]);
  } else {
    const float* from = static_cast<const float*>(row.data) + at;
    for (int j = 0; j < kLanes; ++j) out[j] = from[j];
  }
}

inline void store_block(const Row& row, std::int64_t at, std::int64_t count, const float* values) {
  if (count < kLanes) {
    for (std::int64_t j = 0; j < count; ++j) {
      if (row.narrow) {
        static_cast<std::uint16_t*>(row.data)[at + j] = narrowed(values[j]);
      } else {
        static_cast<float*>(row.data)[at + j] = values[j];
      }
    }
  } else if (row.narrow) {
    std::uint16_t* to = static_cast<std::uint16_t*>(row.data) + at;
    for (int j = 0; j < kLanes; ++j) to[j] = narrowed(values[j]);
  } else {
    float* to = static_cast<float*>(row.data) + at;
    for (int j = 0; j < kLanes; ++j) to[j] = values[j];
  }
}

// body(at, count) for each block of [0, size); only the last may be short.
template <class Body>
inline void for_blocks(std::int64_t size, Body&& body) {
  std::int64_t at = 0;
  for (; at + kLanes <= size; at += kLanes) body(at, std::int64_t{kLanes});
  if (at < size) body(at, size - at);
}

// Always the same order of additions.
[[gnu::always_inline]] inline float sum_of_lanes(const float* lanes) {
  float half[kLanes / 2];
  for (int j = 0; j < kLanes / 2; ++j) half[j] = lanes[j] + lanes[j + kLanes / 2];
  return ((half[0] + half[4]) + (half[2] + half[6])) + ((half[1] + half[5]) + (half[3] + half[7]));
}

// e^x within 4 · 2^-24 of its size for |x| <= 87, held at these ends outside; NaN stays NaN. x = n · ln 2 + r
// with |r| <= ln 2 / 2: the series of e^r breaks off at r^7 with an error below 6e-9, and ln 2 is taken in
// two parts, of which the first times n is exact.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 · 2^23: adding it leaves an integer in the low bits
  // Compared as integers: a comparison of floats might trap, which keeps GCC from vectorising what depends on
  // it.
  const auto bits = __builtin_bit_cast(std::int32_t, x);
  std::int32_t size = bits & 0x7fffffff;
  const std::int32_t held = size > 0x7f800000 ? size : 0x42ae0000;
  size = size > 0x42ae0000 ? held : size;
  x = __builtin_bit_cast(float, size | (bits & static_cast<std::int32_t>(0x80000000)));
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t exponent = __builtin_bit_cast(std::uint32_t, shifted) + (127u - 0x4b400000u);
  return p * __builtin_bit_cast(float, exponent << 23);
}

[[gnu::always_inline]] inline float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }

}  // namespace
}  // namespace redline::ops
