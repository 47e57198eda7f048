// Dot products of NVFP4 weight rows with a few rows of x, on AVX-512: what the decode candidates of matmul
// and grouped_matmul share. Only files in cpu/avx512/ include this; all is in an unnamed namespace, so that
// nothing compiled for AVX-512 is linked into portable code.
//
// A vector of 64 bytes holds 128 codes, eight in each 32-bit lane. vpermps looks sixteen floats up by the
// lowest four bits of each lane, so eight shifts and look-ups make floats of them all; vector i holds
// elements 8 · lane + i, and x is widened in that order once. The two lanes of a block of 16 share its scale,
// which multiplies the sums of a lane: per 128 weights 8 look-ups, 7 shifts, 8 multiply-adds for each row of
// x and 6 instructions for the scales, on two ports: about 15 cycles for 72 bytes.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "ops/lanes.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::ops {
namespace {

constexpr std::int64_t kSpan = 128;
constexpr int kMostRows = 16, kRowsAtOnce = 4;
constexpr std::int64_t padded_width(std::int64_t in) { return (in + kSpan - 1) / kSpan * kSpan; }

inline bool is_plain_nvfp4(const PackedWeight& weight) {
  return weight.scheme.element == DType::F4E2M1 && weight.layout == Layout::Plain;
}

// x [in] BF16 -> floats in the order of the look-ups, zeros up to padded_width(in).
inline void widen_x(const std::uint16_t* x, std::int64_t in, float* out) {
  for (std::int64_t first = 0; first < padded_width(in); first += kSpan) {
    for (int i = 0; i < 8; ++i) {
      for (int lane = 0; lane < 16; ++lane) {
        const std::int64_t k = first + 8 * lane + i;
        out[first + 16 * i + lane] = k < in ? widened(x[k]) : 0.0f;
      }
    }
  }
}

// The scales of eight blocks, each for two lanes. An e4m3 code's bits in a float's exponent and mantissa are
// 2^120 too small.
inline __m512 scales_of(const std::uint8_t* codes) {
  const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
  const __m512i lanes = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(eight, eight));
  const __m512i bits = _mm512_and_si512(_mm512_srai_epi32(_mm512_slli_epi32(lanes, 24), 4),
                                        _mm512_set1_epi32(static_cast<int>(0x87f00000u)));
  return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p120f));
}

template <int kRows>
void add_span(__m512i codes, __m512 scales, const float* const* x, std::int64_t first, __m512* totals) {
  const __m512 values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f,
                                       -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
  __m512 sums[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m512 w = _mm512_permutexvar_ps(
        i == 0 ? codes : _mm512_srli_epi32(codes, static_cast<unsigned>(4 * i)), values);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 value = _mm512_loadu_ps(x[r] + first + 16 * i);
      sums[r] = i == 0 ? _mm512_mul_ps(w, value) : _mm512_fmadd_ps(w, value, sums[r]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) totals[r] = _mm512_fmadd_ps(scales, sums[r], totals[r]);
}

template <int kRows>
void dot(const std::uint8_t* elements, const std::uint8_t* scales, std::int64_t in, const float* const* x,
         float* sums) {
  __m512 totals[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) totals[r] = _mm512_setzero_ps();
  std::int64_t k = 0;
  for (; k + kSpan <= in; k += kSpan)
    add_span<kRows>(_mm512_loadu_si512(elements + k / 2), scales_of(scales + k / 16), x, k, totals);
  if (k < in) {
    std::uint8_t some[64] = {}, some_scales[8] = {};
    __builtin_memcpy(some, elements + k / 2, static_cast<std::size_t>((in - k) / 2));
    __builtin_memcpy(some_scales, scales + k / 16, static_cast<std::size_t>((in - k) / 16));
    add_span<kRows>(_mm512_loadu_si512(some), scales_of(some_scales), x, k, totals);
  }
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_reduce_add_ps(totals[r]);
}

// All rows of x against row n of the part, multiplier included.
inline void row_times_x(const PackedWeight& weight, const WeightPart& part, std::int64_t n,
                        const float* const* x, int rows, float* sums) {
  const auto* elements = static_cast<const std::uint8_t*>(part.elements) + n * (weight.in / 2);
  const auto* scales = static_cast<const std::uint8_t*>(part.scales) + n * (weight.in / 16);
  for (int first = 0; first < rows; first += kRowsAtOnce) {
    switch (rows - first) {
      case 1:
        dot<1>(elements, scales, weight.in, x + first, sums + first);
        break;
      case 2:
        dot<2>(elements, scales, weight.in, x + first, sums + first);
        break;
      case 3:
        dot<3>(elements, scales, weight.in, x + first, sums + first);
        break;
      default:
        dot<4>(elements, scales, weight.in, x + first, sums + first);
        break;
    }
  }
  for (int r = 0; r < rows; ++r) sums[r] *= part.multiplier;
}

}  // namespace
}  // namespace redline::ops
