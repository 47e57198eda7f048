// Eight floats at a time on AVX2: what the row operators' cpu/avx2 candidates compute in. Only they include
// this; all is in an unnamed namespace, so that nothing compiled for AVX2 is linked into portable code.
// lanes.hpp says what a Row is.
#pragma once

#include "ops/avx2.hpp"
#include "ops/lanes.hpp"

namespace redline::ops {
namespace {

constexpr int kWide = 8;

inline __m256 load_eight(const Row& row, std::int64_t at) {
  return row.narrow ? load_bf16(static_cast<const std::uint16_t*>(row.data) + at)
                    : _mm256_loadu_ps(static_cast<const float*>(row.data) + at);
}

inline void store_eight(const Row& row, std::int64_t at, __m256 values) {
  if (!row.narrow) return _mm256_storeu_ps(static_cast<float*>(row.data) + at, values);
  store_bf16(static_cast<std::uint16_t*>(row.data) + at, values);
}

// Fewer than eight: zeros behind them.
inline __m256 load_some(const Row& row, std::int64_t at, std::int64_t count) {
  float block[kLanes];
  load_block(row, at, count, block);
  return _mm256_loadu_ps(block);
}

inline void store_some(const Row& row, std::int64_t at, std::int64_t count, __m256 values) {
  float block[kLanes] = {};
  _mm256_storeu_ps(block, values);
  store_block(row, at, count, block);
}

// body(at) for whole eights of [0, size), then rest(at, count) once if elements are left.
template <class Body, class Rest>
inline void for_eights(std::int64_t size, Body&& body, Rest&& rest) {
  std::int64_t at = 0;
  for (; at + kWide <= size; at += kWide) body(at);
  if (at < size) rest(at, size - at);
}

}  // namespace
}  // namespace redline::ops
