// Eight floats at a time on AVX2: what the row operators' cpu/avx2 candidates compute in. Only they include
// this; all is in an unnamed namespace, so that nothing compiled for AVX2 is linked into portable code.
// lanes.hpp says what a Row is and how e^x is approximated.
#pragma once

#include <immintrin.h>

#include "ops/lanes.hpp"

namespace redline::ops {
namespace {

constexpr int kWide = 8;

inline __m256 load_eight(const Row& row, std::int64_t at) {
  if (!row.narrow) return _mm256_loadu_ps(static_cast<const float*>(row.data) + at);
  const __m128i codes =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const std::uint16_t*>(row.data) + at));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(codes), 16));
}

inline void store_eight(const Row& row, std::int64_t at, __m256 values) {
  if (!row.narrow) return _mm256_storeu_ps(static_cast<float*>(row.data) + at, values);
  const __m256i bits = _mm256_castps_si256(values);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  const __m256i codes = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(static_cast<std::uint16_t*>(row.data) + at), packed);
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

// As exp_of.
inline __m256 exp_of(__m256 x) {
  // Both give their second operand where one is NaN: x stands second and a NaN goes through.
  x = _mm256_min_ps(_mm256_set1_ps(87.0f), _mm256_max_ps(_mm256_set1_ps(-87.0f), x));
  const __m256 round = _mm256_set1_ps(12582912.0f);
  const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(1.44269504f), round);
  const __m256 n = _mm256_sub_ps(shifted, round);
  const __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f),
                                    _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x));
  __m256 p = _mm256_set1_ps(1.0f / 5040);
  for (const float coefficient : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(coefficient));
  const __m256i exponent =
      _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(127 - 0x4b400000));
  return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

inline __m256 sigmoid_of(__m256 x) {
  const __m256 one = _mm256_set1_ps(1.0f);
  return _mm256_div_ps(one, _mm256_add_ps(one, exp_of(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)))));
}

inline float sum_of_eight(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

}  // namespace
}  // namespace redline::ops
