// Dot products of weight rows with a few rows of x, on AVX2: what the decode candidates of matmul and
// grouped_matmul share. Only files in cpu/avx2/ include this; all is in an unnamed namespace, so that nothing
// compiled for AVX2 is linked into portable code.
//
// A weight is read once, as stored, and widened in registers with lane-local instructions alone (a
// lane-crossing one costs twice on AMD). That shuffles the order of elements, so x is widened to float once
// in the same order (widen_x): kSpan elements at a time, 8 to a vector.
//
//   BF16     span 16: words at even places (shift left 16), words at odd places (mask)
//   FP8      span 32: a code becomes the upper half of a float 2^120 too small (exponent fields of 4 bits in
//   8); x carries 2^60 of it and the
//            sum the other 2^60, so that neither codes nor products leave the float range
//   NVFP4    span 64: codes -> bf16 through two byte tables (each e2m1 is exact in bf16), then as BF16;
//   vectors hold halves of two blocks
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "ops/avx2.hpp"
#include "ops/lanes.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::ops {
namespace {

constexpr int kMaxSpan = 64;
constexpr std::int64_t kMostInputs =
    65536;  // bounds the per-thread array of block scales; the family's widest input is 17408
constexpr std::int64_t kMostBlocks = kMostInputs / 16;
constexpr std::int64_t padded_width(std::int64_t in) { return (in + kMaxSpan - 1) / kMaxSpan * kMaxSpan; }

inline __m256 even_words(__m256i words) { return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)); }
inline __m256 odd_words(__m256i words) {
  return _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}

enum class Kind : std::uint8_t { Bf16, Fp8, Nvfp4 };

// Which element of a span stands at lane `lane` of vector `vector`.
template <Kind kind>
constexpr int place(int vector, int lane) {
  if constexpr (kind == Kind::Bf16) return 2 * lane + vector;
  if constexpr (kind == Kind::Fp8) {
    // Vectors 0, 1: lower 8 bytes of each 16-byte lane, even and odd; 2, 3: upper ones.
    return (lane / 4) * 16 + (vector / 2) * 8 + 2 * (lane % 4) + vector % 2;
  }
  // Vector = pair of blocks (0 with 2, 1 with 3) * 4 + nibble * 2 + parity of the byte.
  const int block = vector / 4 + 2 * (lane / 4);
  const int byte = 2 * (lane % 4) + vector % 2;
  return 16 * block + 2 * byte + (vector / 2) % 2;
}

template <Kind kind>
constexpr int kSpanOf = kind == Kind::Bf16  ? 16
                        : kind == Kind::Fp8 ? 32
                                            : 64;

// x [in] BF16 -> floats in the order of `kind`, zeros up to padded_width(in).
template <Kind kind>
void widen_x(const std::uint16_t* x, std::int64_t in, float* out) {
  constexpr int kSpan = kSpanOf<kind>;
  constexpr float kScale = kind == Kind::Fp8 ? 0x1p60f : 1.0f;
  for (std::int64_t first = 0; first < padded_width(in); first += kSpan) {
    for (int vector = 0; vector < kSpan / 8; ++vector) {
      for (int lane = 0; lane < 8; ++lane) {
        const std::int64_t k = first + place<kind>(vector, lane);
        out[first + vector * 8 + lane] = k < in ? widened(x[k]) * kScale : 0.0f;
      }
    }
  }
}

// One span of a row as floats, kSpan / 8 vectors.
template <Kind kind>
void widen_span(const std::uint8_t* bytes, __m256* out);

template <>
inline void widen_span<Kind::Bf16>(const std::uint8_t* bytes, __m256* out) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  out[0] = even_words(words);
  out[1] = odd_words(words);
}

template <>
inline void widen_span<Kind::Fp8>(const std::uint8_t* bytes, __m256* out) {
  const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i mask = _mm256_set1_epi16(static_cast<short>(0x87f0));
  const __m256i zero = _mm256_setzero_si256();
  // A code in the upper byte, shifted right with its sign: sign, four copies of it (masked away), exponent,
  // mantissa.
  const __m256i low = _mm256_and_si256(_mm256_srai_epi16(_mm256_unpacklo_epi8(zero, codes), 4), mask);
  const __m256i high = _mm256_and_si256(_mm256_srai_epi16(_mm256_unpackhi_epi8(zero, codes), 4), mask);
  out[0] = even_words(low);
  out[1] = odd_words(low);
  out[2] = even_words(high);
  out[3] = odd_words(high);
}

template <>
inline void widen_span<Kind::Nvfp4>(const std::uint8_t* bytes, __m256* out) {
  // Upper and lower bytes of the bf16 of 0, .5, 1, 1.5, 2, 3, 4, 6 and their negatives.
  const __m256i upper = _mm256_setr_epi8(0x00, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40, -128, -65, -65, -65,
                                         -64, -64, -64, -64, 0x00, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40,
                                         -128, -65, -65, -65, -64, -64, -64, -64);
  const __m256i lower = _mm256_setr_epi8(0x00, 0x00, -128, -64, 0x00, 0x40, -128, -64, 0x00, 0x00, -128, -64,
                                         0x00, 0x40, -128, -64, 0x00, 0x00, -128, -64, 0x00, 0x40, -128, -64,
                                         0x00, 0x00, -128, -64, 0x00, 0x40, -128, -64);
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i even = _mm256_and_si256(codes, nibble);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble);
  const __m256i even_upper = _mm256_shuffle_epi8(upper, even), even_lower = _mm256_shuffle_epi8(lower, even);
  const __m256i odd_upper = _mm256_shuffle_epi8(upper, odd), odd_lower = _mm256_shuffle_epi8(lower, odd);
  const __m256i words[4] = {
      _mm256_unpacklo_epi8(even_lower, even_upper), _mm256_unpacklo_epi8(odd_lower, odd_upper),
      _mm256_unpackhi_epi8(even_lower, even_upper), _mm256_unpackhi_epi8(odd_lower, odd_upper)};
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = even_words(words[i]);
    out[2 * i + 1] = odd_words(words[i]);
  }
}

// Scales of a row of blocks as floats, made once for each row and then broadcast from L1.
inline float e4m3_scale(std::uint8_t code) {
  // Block scales are not negative; the same bit trick as above, with the factor applied here.
  const std::uint32_t bits = static_cast<std::uint32_t>(code & 0x7f) << 20;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  value *= 0x1p120f;
  return (code & 0x80) != 0 ? -value : value;
}

// Rows n of a part against kRows rows of x, each [padded_width(in)] floats, in * scale structure of the
// scheme; without the part's multiplier.
struct WeightRow {
  const std::uint8_t* elements = nullptr;
  const void* scales =
      nullptr;  // of this row: NVFP4 e4m3 [in / 16]; FP8 128x128 [⌈in / 128⌉] of its block row
};

inline float float_scale(DType dtype, const void* scales, std::int64_t i) {
  return dtype == DType::F32 ? static_cast<const float*>(scales)[i]
                             : widened(static_cast<const std::uint16_t*>(scales)[i]);
}

template <int kRows>
void dot_bf16(const WeightRow& row, std::int64_t in, const float* const* x, float* sums) {
  __m256 low[kRows], high[kRows];
  for (int r = 0; r < kRows; ++r) low[r] = high[r] = _mm256_setzero_ps();
  std::int64_t k = 0;
  for (; k + 16 <= in; k += 16) {
    __m256 w[2];
    widen_span<Kind::Bf16>(row.elements + 2 * k, w);
    for (int r = 0; r < kRows; ++r) {
      low[r] = _mm256_fmadd_ps(w[0], _mm256_loadu_ps(x[r] + k), low[r]);
      high[r] = _mm256_fmadd_ps(w[1], _mm256_loadu_ps(x[r] + k + 8), high[r]);
    }
  }
  if (k < in) {  // the row ends inside a span; x is zero there, and the weights must be finite
    alignas(32) std::uint8_t tail[32] = {};
    __builtin_memcpy(tail, row.elements + 2 * k, static_cast<std::size_t>(2 * (in - k)));
    __m256 w[2];
    widen_span<Kind::Bf16>(tail, w);
    for (int r = 0; r < kRows; ++r) {
      low[r] = _mm256_fmadd_ps(w[0], _mm256_loadu_ps(x[r] + k), low[r]);
      high[r] = _mm256_fmadd_ps(w[1], _mm256_loadu_ps(x[r] + k + 8), high[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) sums[r] = sum_lanes(_mm256_add_ps(low[r], high[r]));
}

// Columns in runs of `run` elements share a scale; run = in: none (the caller applies a channel's scale).
template <int kRows>
void dot_fp8(const WeightRow& row, std::int64_t in, const float* const* x, std::int64_t run, DType scale_type,
             float* sums) {
  __m256 total[kRows];
  for (int r = 0; r < kRows; ++r) total[r] = _mm256_setzero_ps();
  for (std::int64_t first = 0; first < in; first += run) {
    const std::int64_t end = first + run < in ? first + run : in;
    __m256 low[kRows], high[kRows];
    for (int r = 0; r < kRows; ++r) low[r] = high[r] = _mm256_setzero_ps();
    for (std::int64_t k = first; k < end; k += 32) {
      __m256 w[4];
      if (k + 32 <= in) {
        widen_span<Kind::Fp8>(row.elements + k, w);
      } else {
        alignas(32) std::uint8_t tail[32] = {};
        __builtin_memcpy(tail, row.elements + k, static_cast<std::size_t>(in - k));
        widen_span<Kind::Fp8>(tail, w);
      }
      for (int r = 0; r < kRows; ++r) {
        low[r] = _mm256_fmadd_ps(w[0], _mm256_loadu_ps(x[r] + k), low[r]);
        high[r] = _mm256_fmadd_ps(w[1], _mm256_loadu_ps(x[r] + k + 8), high[r]);
        low[r] = _mm256_fmadd_ps(w[2], _mm256_loadu_ps(x[r] + k + 16), low[r]);
        high[r] = _mm256_fmadd_ps(w[3], _mm256_loadu_ps(x[r] + k + 24), high[r]);
      }
    }
    const __m256 scale =
        _mm256_set1_ps(row.scales != nullptr ? float_scale(scale_type, row.scales, first / run) : 1.0f);
    for (int r = 0; r < kRows; ++r)
      total[r] = _mm256_fmadd_ps(scale, _mm256_add_ps(low[r], high[r]), total[r]);
  }
  for (int r = 0; r < kRows; ++r) sums[r] = sum_lanes(total[r]) * 0x1p60f;
}

// `scales`: floats of the row's blocks, padded with zeros to a multiple of four.
template <int kRows>
void dot_nvfp4(const WeightRow& row, std::int64_t in, const float* const* x, const float* scales,
               float* sums) {
  __m256 total[kRows][2];
  for (int r = 0; r < kRows; ++r) total[r][0] = total[r][1] = _mm256_setzero_ps();
  for (std::int64_t k = 0; k < in; k += 64) {
    __m256 w[8];
    if (k + 64 <= in) {
      widen_span<Kind::Nvfp4>(row.elements + k / 2, w);
    } else {
      alignas(32) std::uint8_t tail[32] = {};
      __builtin_memcpy(tail, row.elements + k / 2, static_cast<std::size_t>((in - k) / 2));
      widen_span<Kind::Nvfp4>(tail, w);
    }
    const float* s = scales + k / 16;
    const __m256 scale[2] = {_mm256_set_m128(_mm_broadcast_ss(s + 2), _mm_broadcast_ss(s)),
                             _mm256_set_m128(_mm_broadcast_ss(s + 3), _mm_broadcast_ss(s + 1))};
    for (int r = 0; r < kRows; ++r) {
      for (int pair = 0; pair < 2; ++pair) {
        const float* xs = x[r] + k + 32 * pair;
        __m256 sum = _mm256_mul_ps(w[4 * pair], _mm256_loadu_ps(xs));
        sum = _mm256_fmadd_ps(w[4 * pair + 1], _mm256_loadu_ps(xs + 8), sum);
        sum = _mm256_fmadd_ps(w[4 * pair + 2], _mm256_loadu_ps(xs + 16), sum);
        sum = _mm256_fmadd_ps(w[4 * pair + 3], _mm256_loadu_ps(xs + 24), sum);
        total[r][pair] = _mm256_fmadd_ps(scale[pair], sum, total[r][pair]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) sums[r] = sum_lanes(_mm256_add_ps(total[r][0], total[r][1]));
}

inline bool kind_of(const quant::Scheme& scheme, Kind& kind) {
  switch (scheme.element) {
    case DType::BF16:
      kind = Kind::Bf16;
      return true;
    case DType::F8E4M3:
      kind = Kind::Fp8;
      return true;
    case DType::F4E2M1:
      kind = Kind::Nvfp4;
      return true;
    default:
      return false;
  }
}

inline void widen_x_as(Kind kind, const std::uint16_t* x, std::int64_t in, float* out) {
  switch (kind) {
    case Kind::Bf16:
      return widen_x<Kind::Bf16>(x, in, out);
    case Kind::Fp8:
      return widen_x<Kind::Fp8>(x, in, out);
    case Kind::Nvfp4:
      return widen_x<Kind::Nvfp4>(x, in, out);
  }
}

constexpr int kRowsAtOnce = 4;  // of x: two accumulators each, and the widened span, fill the 16 registers

// All rows of x against row n of the part, multiplier and channel scale included. `scales`: room for
// padded_width(in) / 16 floats.
inline void row_times_x(const PackedWeight& weight, const WeightPart& part, std::int64_t n, Kind kind,
                        const float* const* x, int rows, float* scales, float* sums) {
  const std::int64_t in = weight.in;
  const quant::Scheme& scheme = weight.scheme;
  WeightRow row;
  row.elements = static_cast<const std::uint8_t*>(part.elements) + n * in *
                                                                       (kind == Kind::Bf16  ? 4
                                                                        : kind == Kind::Fp8 ? 2
                                                                                            : 1) /
                                                                       2;
  float factor = part.multiplier;
  std::int64_t run = in;
  const DType scale_type = scheme.scale ? *scheme.scale : DType::F32;
  if (kind == Kind::Nvfp4) {
    const auto* codes = static_cast<const std::uint8_t*>(part.scales) + n * (in / 16);
    const std::int64_t blocks = in / 16, padded = padded_width(in) / 16;
    for (std::int64_t b = 0; b < padded; ++b) scales[b] = b < blocks ? e4m3_scale(codes[b]) : 0.0f;
  } else if (scheme.block_columns > 0) {
    const std::int64_t per_row = (in + scheme.block_columns - 1) / scheme.block_columns;
    row.scales = static_cast<const std::uint8_t*>(part.scales) +
                 n / scheme.block_rows * per_row * (scale_type == DType::F32 ? 4 : 2);
    run = scheme.block_columns;
  } else if (scheme.channel_scale) {
    factor *= float_scale(scale_type, part.scales, n);
  }
  for (int first = 0; first < rows; first += kRowsAtOnce) {
    const auto some = [&]<int kRows>() {
      if (kind == Kind::Bf16) dot_bf16<kRows>(row, in, x + first, sums + first);
      if (kind == Kind::Fp8) dot_fp8<kRows>(row, in, x + first, run, scale_type, sums + first);
      if (kind == Kind::Nvfp4) dot_nvfp4<kRows>(row, in, x + first, scales, sums + first);
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
  for (int r = 0; r < rows; ++r) sums[r] *= factor;
}

}  // namespace
}  // namespace redline::ops
