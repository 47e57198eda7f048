// Dot products of BF16 and NVFP4 weight rows with a few rows of x, on AVX-512 with vdpbf16ps: what the decode
// candidates of matmul and grouped_matmul share. Only files in cpu/avx512_bf16/ include this; all is in an
// unnamed namespace, so that nothing compiled for that level is linked into portable code.
//
// vdpbf16ps adds two products of BF16 to each 32-bit lane; such a product is exact in float. BF16 weights
// need nothing else.
//
// NVFP4: a vector of 64 bytes holds 128 codes, four in each 16-bit lane. vpermw looks 32 words up by the
// lowest five bits of each lane; the table repeats its sixteen BF16 values, so the fifth bit does not matter,
// and four shifts and look-ups make BF16 of all codes. Word j of vector i is element 4 j + i, and x is put
// into that order once. The two lanes of a block of 16 share its scale, which multiplies the sums of a lane.
// For 72 bytes of weights: 4 look-ups, 3 shifts, 5 instructions for the scales, and 4 dot products and a
// multiply-add for each row of x; a Zen 4 does that in 10 cycles.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "ops/candidate.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::ops {
namespace {

constexpr std::int64_t kSpan = 128;
constexpr std::int64_t kAhead = 4096;  // bytes
constexpr int kRowsAtOnce = 4;
constexpr std::int64_t padded_width(std::int64_t in) { return (in + kSpan - 1) / kSpan * kSpan; }

inline Verdict supports_weight(const PackedWeight& weight) {
  const DType element = weight.scheme.element;
  if (weight.layout != Layout::Plain) return {"weight is packed for another candidate"};
  if (element != DType::F4E2M1 && element != DType::BF16) return {"weight is neither BF16 nor NVFP4"};
  return {};
}

// x [in] BF16 in the order in which the weights come, zeros up to padded_width(in).
inline void prepare_x(const PackedWeight& weight, const std::uint16_t* x, std::uint16_t* out) {
  const std::int64_t in = weight.in;
  if (weight.scheme.element == DType::BF16) {
    __builtin_memcpy(out, x, static_cast<std::size_t>(in) * sizeof(*x));
    for (std::int64_t k = in; k < padded_width(in); ++k) out[k] = 0;
    return;
  }
  for (std::int64_t first = 0; first < padded_width(in); first += kSpan) {
    for (int i = 0; i < 4; ++i) {
      for (int word = 0; word < 32; ++word) {
        const std::int64_t k = first + 4 * word + i;
        out[first + 32 * i + word] = k < in ? x[k] : std::uint16_t{0};
      }
    }
  }
}

// The scales of eight blocks, each for two lanes. An e4m3 code's bits in a float's exponent and mantissa are
// 2^120 too small.
inline __m512 scales_of(const std::uint8_t* codes) {
  const __m512i wide = _mm512_cvtepi8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
  const __m512i lanes = _mm512_castps_si512(_mm512_moveldup_ps(_mm512_castsi512_ps(wide)));
  const __m512i bits =
      _mm512_and_si512(_mm512_slli_epi32(lanes, 20), _mm512_set1_epi32(static_cast<int>(0x87f00000u)));
  return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p120f));
}

// e2m1 codes 0 to 15 as BF16, twice.
inline __m512i values_of_codes() {
  const __m256i once =
      _mm256_setr_epi16(0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,
                        static_cast<short>(0x8000), static_cast<short>(0xbf00), static_cast<short>(0xbf80),
                        static_cast<short>(0xbfc0), static_cast<short>(0xc000), static_cast<short>(0xc040),
                        static_cast<short>(0xc080), static_cast<short>(0xc0c0));
  return _mm512_broadcast_i64x4(once);
}

// Adds the products of 32 pairs of BF16. Written out because clang 16 cannot compile its intrinsic.
inline void add_products(__m512& sums, __m512i weights, const std::uint16_t* x) {
  __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(weights), "m"(*reinterpret_cast<const __m512i_u*>(x)));
}

// Inlined by order: GCC calls it for each 72 bytes otherwise, with the sums in memory.
template <int kRows>
[[gnu::always_inline]] inline void add_span(__m512i codes, __m512 scales, const std::uint16_t* const* x,
                                            std::int64_t first, __m512* totals) {
  const __m512i values = values_of_codes();
  __m512 sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i shifted = i == 0 ? codes : _mm512_srli_epi16(codes, static_cast<unsigned>(4 * i));
    const __m512i weights = _mm512_permutexvar_epi16(shifted, values);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) add_products(sums[r], weights, x[r] + first + 32 * i);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) totals[r] = _mm512_fmadd_ps(scales, sums[r], totals[r]);
}

template <int kRows>
void dot_nvfp4(const std::uint8_t* elements, const std::uint8_t* scales, std::int64_t in,
               const std::uint16_t* const* x, float* sums) {
  __m512 totals[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) totals[r] = _mm512_setzero_ps();
  std::int64_t k = 0;
  for (; k + kSpan <= in; k += kSpan) {
    // The rows behind this one: the processor's own prefetch alone leaves a fifth of the stream's speed.
    _mm_prefetch(reinterpret_cast<const char*>(elements + k / 2 + kAhead), _MM_HINT_T0);
    add_span<kRows>(_mm512_loadu_si512(elements + k / 2), scales_of(scales + k / 16), x, k, totals);
  }
  if (k < in) {
    std::uint8_t some[kSpan / 2] = {}, some_scales[kSpan / 16] = {};
    __builtin_memcpy(some, elements + k / 2, static_cast<std::size_t>((in - k) / 2));
    __builtin_memcpy(some_scales, scales + k / 16, static_cast<std::size_t>((in - k) / 16));
    add_span<kRows>(_mm512_loadu_si512(some), scales_of(some_scales), x, k, totals);
  }
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_reduce_add_ps(totals[r]);
}

template <int kRows>
void dot_bf16(const std::uint8_t* elements, std::int64_t in, const std::uint16_t* const* x, float* sums) {
  __m512 totals[kRows][4];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) totals[r][i] = _mm512_setzero_ps();
  }
  std::int64_t k = 0;
  for (; k + kSpan <= in; k += kSpan) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(elements + 2 * k + 64 * i + kAhead), _MM_HINT_T0);
      const __m512i weights = _mm512_loadu_si512(elements + 2 * k + 64 * i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) add_products(totals[r][i], weights, x[r] + k + 32 * i);
    }
  }
  for (; k < in;
       k += 32) {  // less than a span is left; x is zero behind its end, and the weights must be finite
    const auto mask = in - k >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((1u << (in - k)) - 1);
    const __m512i weights = _mm512_maskz_loadu_epi16(mask, elements + 2 * k);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) add_products(totals[r][0], weights, x[r] + k);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    sums[r] = _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(totals[r][0], totals[r][1]), _mm512_add_ps(totals[r][2], totals[r][3])));
}

// All rows of x against row n of the part, multiplier included. One weight row at a time: two or four of them
// are as many streams half a kilobyte apart, and on a Zen 4 that halves the speed of reading.
inline void row_times_x(const PackedWeight& weight, const WeightPart& part, std::int64_t n,
                        const std::uint16_t* const* x, int rows, float* sums) {
  const bool bf16 = weight.scheme.element == DType::BF16;
  const auto* elements =
      static_cast<const std::uint8_t*>(part.elements) + n * (bf16 ? 2 * weight.in : weight.in / 2);
  const auto* scales = bf16 ? nullptr : static_cast<const std::uint8_t*>(part.scales) + n * (weight.in / 16);
  for (int first = 0; first < rows; first += kRowsAtOnce) {
    const auto some = [&]<int kRows>() {
      bf16 ? dot_bf16<kRows>(elements, weight.in, x + first, sums + first)
           : dot_nvfp4<kRows>(elements, scales, weight.in, x + first, sums + first);
    };
    switch (rows - first) {
      case 1:
        some.template operator()<1>();
        break;
      case 2:
        some.template operator()<2>();
        break;
      case 3:
        some.template operator()<3>();
        break;
      default:
        some.template operator()<4>();
        break;
    }
  }
  for (int r = 0; r < rows; ++r) sums[r] *= part.multiplier;
}

}  // namespace
}  // namespace redline::ops
