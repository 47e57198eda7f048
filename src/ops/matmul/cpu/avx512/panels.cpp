// Many rows: a panel of 32 weight rows is widened to float 256 columns at a time and multiplied with twelve
// rows of x at once.
//
// Weights pass through pairs of BF16, which halves the work of turning rows into columns. Every kind of
// weight is exact in BF16: FP8 e4m3 has 4 significant bits, an NVFP4 code times its block scale 2 + 4. Scales
// of 128x128 blocks and of channels are applied in float to the sums of a block of columns, so no weight is
// ever rounded.
//
// Registers: 12 x 2 sums, two of the panel, one value of x = 27 of 32. For each column and twelve rows: 24
// multiply-adds, 14 loads, so the two FMA units are the limit. Cache: a panel of 256 columns is 32 KB and
// twelve rows of x are 12 KB: L1. Rows of x are 64 bytes further apart than they are long, so that they do
// not share cache sets. Making the panel costs about 1 cycle for a column, once for 512 rows, which take 32
// cycles each. vdpbf16ps, which multiplies the pairs themselves, was tried: on an Intel Xeon (Granite Rapids)
// it does 118 GFLOP/s a core where float multiply-adds do 206.
#include <immintrin.h>

#include "device/cpu/cpu_device.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul::cpu_avx512 {
namespace {

constexpr std::int64_t kPanel = 32, kColumns = 256, kRowsAtATime = 512, kTile = 12, kFewestRows = 12;

enum class Kind : std::uint8_t { Bf16, Fp8, Nvfp4 };

bool kind_of(const quant::Scheme& scheme, Kind& kind) {
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

Verdict supports(const DeviceInfo& device, const Args& args) {
  Kind kind;
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx512) return {"needs a CPU with AVX-512"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  const quant::Scheme& scheme = args.weight->scheme;
  if (!kind_of(scheme, kind)) return {"weight is neither BF16 nor FP8 nor NVFP4"};
  if (kind == Kind::Fp8 && (scheme.block_columns % 32 != 0 || scheme.block_columns > kColumns))
    return {"blocks of scales of an unusual width"};
  if (args.x.shape[0] < kFewestRows) return {"fewer than twelve rows"};
  return {};
}

// Floats between the starts of two rows of x.
std::int64_t stride_of(std::int64_t in) { return (in + 15) / 16 * 16 + 16; }
std::size_t scratch_bytes(const Args& args, int) {
  return static_cast<std::size_t>(args.x.shape[0] * stride_of(args.weight->in)) * sizeof(float);
}

float widened(std::uint16_t code) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(code) << 16);
}

std::uint16_t narrowed(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float scale_at(DType dtype, const void* scales, std::int64_t i) {
  return dtype == DType::F32 ? static_cast<const float*>(scales)[i]
                             : widened(static_cast<const std::uint16_t*>(scales)[i]);
}

// Two vectors of floats that are exact in BF16 as pairs: `even` in the lower halves.
__m512i pairs_of(__m512 even, __m512 odd) {
  return _mm512_or_si512(
      _mm512_srli_epi32(_mm512_castps_si512(even), 16),
      _mm512_and_si512(_mm512_castps_si512(odd), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

// e4m3 codes in the lowest bytes of the lanes as floats. The code's bits in a float's sign, exponent and
// mantissa are 2^120 too small.
__m512 widened_e4m3(__m512i codes) {
  const __m512i bits = _mm512_and_si512(_mm512_srai_epi32(_mm512_slli_epi32(codes, 24), 4),
                                        _mm512_set1_epi32(static_cast<int>(0x87f00000u)));
  return _mm512_mul_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(0x1p120f));
}

// 16 pairs of a row of weights, the first at `bytes`; `scales` are the codes of the two blocks they lie in
// (NVFP4).
template <Kind kind>
__m512i load_pairs(const std::uint8_t* bytes, const std::uint8_t* scales) {
  if constexpr (kind == Kind::Bf16) return _mm512_loadu_si512(bytes);
  if constexpr (kind == Kind::Fp8) {
    const __m512i codes = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
    return pairs_of(widened_e4m3(codes), widened_e4m3(_mm512_srli_epi32(codes, 8)));
  }
  const __m512 values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f,
                                       -1.5f, -2.0f, -3.0f, -4.0f, -6.0f);
  const __m512i codes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  const __m512 scale = widened_e4m3(
      _mm512_mask_blend_epi32(0xff00, _mm512_set1_epi32(scales[0]), _mm512_set1_epi32(scales[1])));
  return pairs_of(_mm512_mul_ps(_mm512_permutexvar_ps(codes, values), scale),
                  _mm512_mul_ps(_mm512_permutexvar_ps(_mm512_srli_epi32(codes, 4), values), scale));
}

// Rows become columns, in place.
void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {  // now quadruples of rows i .. i + 3, a column in each 128-bit lane
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);      // columns i and 8 + i of rows 0 .. 7
    t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);  // 4 + i and 12 + i
    t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
  }
}

struct Rows {  // sixteen of them, as far as there are so many
  const std::uint8_t* elements[16];
  const std::uint8_t* scales[16];
  int count;
};

// Columns [first, first + count) of sixteen rows as floats into panel [kColumns, kPanel]; a last odd one is
// followed by one of zeros.
template <Kind kind>
void fill_panel(const Rows& rows, std::int64_t first, std::int64_t count, float* panel) {
  constexpr std::int64_t kBytes = kind == Kind::Bf16 ? 64 : kind == Kind::Fp8 ? 32 : 16;  // of 32 columns
  for (std::int64_t k = 0; k < count; k += 32) {
    __m512i v[16];
    for (int j = 0; j < 16; ++j) {
      if (j >= rows.count) {
        v[j] = _mm512_setzero_si512();
        continue;
      }
      const std::uint8_t* bytes = rows.elements[j] + (first + k) / 32 * kBytes;
      const std::uint8_t* scales = kind == Kind::Nvfp4 ? rows.scales[j] + (first + k) / 16 : nullptr;
      if (k + 32 <= count) {
        v[j] = load_pairs<kind>(bytes, scales);
      } else {
        std::uint8_t some[kBytes] = {}, some_scales[2] = {};
        __builtin_memcpy(some, bytes, static_cast<std::size_t>((count - k) * kBytes / 32));
        if (kind == Kind::Nvfp4)
          __builtin_memcpy(some_scales, scales, static_cast<std::size_t>((count - k) / 16));
        v[j] = load_pairs<kind>(some, some_scales);
      }
    }
    transpose(v);
    for (int j = 0; j < 16; ++j) {
      float* column = panel + (k + 2 * j) * kPanel;
      _mm512_store_si512(column, _mm512_slli_epi32(v[j], 16));
      _mm512_store_si512(column + kPanel,
                         _mm512_and_si512(v[j], _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
    }
  }
}

void fill_panel(Kind kind, const Rows& rows, std::int64_t first, std::int64_t count, float* panel) {
  switch (kind) {
    case Kind::Bf16:
      return fill_panel<Kind::Bf16>(rows, first, count, panel);
    case Kind::Fp8:
      return fill_panel<Kind::Fp8>(rows, first, count, panel);
    case Kind::Nvfp4:
      return fill_panel<Kind::Nvfp4>(rows, first, count, panel);
  }
}

// sums [kRows, kPanel] += factors · (x [kRows, columns] · panel [columns, kPanel])
template <int kRows>
void tile(const float* x, std::int64_t stride, std::int64_t columns, const float* panel, const float* factors,
          float* sums) {
  __m512 left[kRows], right[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < columns; ++k) {
    const __m512 w0 = _mm512_load_ps(panel + k * kPanel), w1 = _mm512_load_ps(panel + k * kPanel + 16);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512 value = _mm512_set1_ps(x[r * stride + k]);
      left[r] = _mm512_fmadd_ps(value, w0, left[r]);
      right[r] = _mm512_fmadd_ps(value, w1, right[r]);
    }
  }
  const __m512 left_factor = _mm512_load_ps(factors), right_factor = _mm512_load_ps(factors + 16);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* at = sums + r * kPanel;
    _mm512_store_ps(at, _mm512_fmadd_ps(left[r], left_factor, _mm512_load_ps(at)));
    _mm512_store_ps(at + 16, _mm512_fmadd_ps(right[r], right_factor, _mm512_load_ps(at + 16)));
  }
}

using Tile = void (*)(const float*, std::int64_t, std::int64_t, const float*, const float*, float*);
constexpr Tile kTiles[kTile] = {tile<1>, tile<2>, tile<3>, tile<4>,  tile<5>,  tile<6>,
                                tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>};

// 32 outputs from `first_output` on, for all rows of x.
class Panel {
 public:
  Panel(const Args& args, Kind kind, const float* x)
      : args_(args), weight_(*args.weight), kind_(kind), x_(x), stride_(stride_of(weight_.in)) {
    columns_ =
        kind == Kind::Fp8 && weight_.scheme.block_columns > 0 ? weight_.scheme.block_columns : kColumns;
  }

  void run(std::int64_t first_output) {
    first_output_ = first_output;
    outputs_ = weight_.out - first_output < kPanel ? weight_.out - first_output : kPanel;
    const std::int64_t rows = args_.x.shape[0];
    for (std::int64_t first = 0; first < rows; first += kRowsAtATime) {
      const std::int64_t count = rows - first < kRowsAtATime ? rows - first : kRowsAtATime;
      sum(first, count);
      store(first, count);
    }
  }

 private:
  void sum(std::int64_t first_row, std::int64_t rows) {
    __builtin_memset(sums_, 0, static_cast<std::size_t>(rows * kPanel) * sizeof(float));
    for (std::int64_t first = 0; first < weight_.in; first += columns_) {
      const std::int64_t count = weight_.in - first < columns_ ? weight_.in - first : columns_;
      load(first, count);
      for (std::int64_t r = 0; r < rows; r += kTile) {
        const std::int64_t some = rows - r < kTile ? rows - r : kTile;
        kTiles[some - 1](x_ + (first_row + r) * stride_ + first, stride_, count, panel_, factors_,
                         sums_ + r * kPanel);
      }
    }
  }

  void load(std::int64_t first, std::int64_t count) {
    const std::int64_t rows_per_part = weight_.out / weight_.parts_per_matrix;
    const quant::Scheme& scheme = weight_.scheme;
    const std::int64_t per_row =
        scheme.block_columns > 0 ? (weight_.in + scheme.block_columns - 1) / scheme.block_columns : 0;
    for (int half = 0; half < 2; ++half) {
      Rows rows{};
      for (std::int64_t j = half * 16; j < half * 16 + 16; ++j) {
        factors_[j] = 0;
        if (j >= outputs_) continue;
        const std::int64_t n = first_output_ + j, row = n % rows_per_part;
        const WeightPart& part = weight_.part(0, n / rows_per_part);
        factors_[j] = part.multiplier;
        if (kind_ == Kind::Fp8 && scheme.block_columns > 0) {
          factors_[j] *= scale_at(*scheme.scale, part.scales,
                                  row / scheme.block_rows * per_row + first / scheme.block_columns);
        } else if (scheme.channel_scale) {
          factors_[j] *= scale_at(*scheme.scale, part.scales, row);
        }
        rows.elements[rows.count] =
            static_cast<const std::uint8_t*>(part.elements) + row * weight_.in *
                                                                  (kind_ == Kind::Bf16  ? 4
                                                                   : kind_ == Kind::Fp8 ? 2
                                                                                        : 1) /
                                                                  2;
        if (kind_ == Kind::Nvfp4)
          rows.scales[rows.count] = static_cast<const std::uint8_t*>(part.scales) + row * (weight_.in / 16);
        ++rows.count;
      }
      fill_panel(kind_, rows, first, count, panel_ + half * 16);
    }
  }

  void store(std::int64_t first_row, std::int64_t rows) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = (first_row + r) * args_.y.strides[0] + first_output_;
      for (std::int64_t j = 0; j < outputs_; ++j) {
        if (args_.y.dtype == DType::F32) {
          static_cast<float*>(args_.y.data)[at + j] = sums_[r * kPanel + j];
        } else {
          static_cast<std::uint16_t*>(args_.y.data)[at + j] = narrowed(sums_[r * kPanel + j]);
        }
      }
    }
  }

  const Args& args_;
  const PackedWeight& weight_;
  const Kind kind_;
  const float* x_;
  const std::int64_t stride_;
  std::int64_t columns_ = 0, first_output_ = 0, outputs_ = 0;
  alignas(64) float panel_[kColumns * kPanel];
  alignas(64) float sums_[kRowsAtATime * kPanel];
  alignas(64) float factors_[kPanel];
};

void run(Exec& exec, const Args& args, int) {
  Kind kind = Kind::Bf16;
  kind_of(args.weight->scheme, kind);
  const std::int64_t in = args.weight->in, stride = stride_of(in);
  auto* x = static_cast<float*>(exec.scratch.take_bytes(scratch_bytes(args, 0)));
  ThreadPool& threads = static_cast<CpuDevice&>(exec.device).threads();
  threads.parallel_for(static_cast<std::size_t>(args.x.shape[0]), [&](const ThreadPool::Chunk& chunk) {
    for (auto r = static_cast<std::int64_t>(chunk.begin); r < static_cast<std::int64_t>(chunk.end); ++r) {
      const auto* from = static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0];
      std::int64_t k = 0;
      for (; k + 16 <= in; k += 16) {
        const __m512i words =
            _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k)));
        _mm512_storeu_si512(x + r * stride + k, _mm512_slli_epi32(words, 16));
      }
      for (; k < in; ++k) x[r * stride + k] = widened(from[k]);
    }
  });
  const std::int64_t panels = (args.weight->out + kPanel - 1) / kPanel;
  threads.parallel_for(static_cast<std::size_t>(panels), [&](const ThreadPool::Chunk& chunk) {
    Panel panel(args, kind, x);
    for (auto p = static_cast<std::int64_t>(chunk.begin); p < static_cast<std::int64_t>(chunk.end); ++p)
      panel.run(p * kPanel);
  });
}

}  // namespace

Candidate<Args> panels() {
  return {.order = 5, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx512
