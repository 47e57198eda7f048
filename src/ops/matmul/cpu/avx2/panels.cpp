// Many rows: a panel of 16 weight rows is widened to float 512 columns at a time and multiplied with six rows
// of x at once.
//
// Registers: 6 x 2 accumulators, two of the panel, one broadcast of x = 15 of 16. Per column and six rows: 12
// FMA, 2 loads, 6 broadcasts, so the two FMA units are the limit. Cache: a panel block is 512 x 16 floats =
// 32 KB and the sums of 256 rows x 16 are 16 KB; both stay in L2 while x streams past. Widening costs about 2
// cycles an element, once for 256 rows, which take 16 cycles an element.
#include "device/cpu/cpu_device.hpp"
#include "ops/matmul/cpu/avx2/dot.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul::cpu_avx2 {
namespace {

constexpr std::int64_t kPanel = 16, kColumns = 512, kRowsAtATime = 256, kTile = 6;

Verdict supports(const DeviceInfo& device, const Args& args) {
  Kind kind;
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  if (!kind_of(args.weight->scheme, kind)) return {"weight is neither BF16 nor FP8 nor NVFP4"};
  if (args.x.shape[0] < kTile) return {"fewer than six rows"};
  return {};
}

std::size_t scratch_bytes(const Args& args, int) {
  return static_cast<std::size_t>(args.x.shape[0] * args.weight->in) * sizeof(float);
}

// Columns [first, first + count) of row n, scales included, into column j of the panel [kColumns, kPanel].
template <Kind kind>
void widen_into_panel(const PackedWeight& weight, const WeightPart& part, std::int64_t n, std::int64_t first,
                      std::int64_t count, float* panel) {
  constexpr int kSpan = kSpanOf<kind>;
  constexpr int kVectors = kSpan / 8;
  constexpr std::int64_t kSpanBytes = kind == Kind::Bf16 ? 2 * kSpan : kind == Kind::Fp8 ? kSpan : kSpan / 2;
  const quant::Scheme& scheme = weight.scheme;
  const std::int64_t row_bytes = weight.in / kSpan * kSpanBytes + weight.in % kSpan * kSpanBytes / kSpan;
  const auto* bytes =
      static_cast<const std::uint8_t*>(part.elements) + n * row_bytes + first / kSpan * kSpanBytes;
  for (std::int64_t k = 0; k < count; k += kSpan, bytes += kSpanBytes) {
    __m256 w[kVectors];
    alignas(32) float values[kSpan];
    if (k + kSpan <= count) {
      widen_span<kind>(bytes, w);
    } else {
      alignas(32) std::uint8_t tail[kSpanBytes] = {};
      __builtin_memcpy(tail, bytes, static_cast<std::size_t>((count - k) * kSpanBytes / kSpan));
      widen_span<kind>(tail, w);
    }
    for (int v = 0; v < kVectors; ++v)
      _mm256_store_ps(values + 8 * v,
                      kind == Kind::Fp8 ? _mm256_mul_ps(w[v], _mm256_set1_ps(0x1p120f)) : w[v]);
    for (int v = 0; v < kVectors; ++v) {
      for (int lane = 0; lane < 8; ++lane) {
        const std::int64_t at = k + place<kind>(v, lane);
        if (at < count) panel[at * kPanel] = values[8 * v + lane];
      }
    }
  }
  if constexpr (kind == Kind::Nvfp4) {
    const auto* scales = static_cast<const std::uint8_t*>(part.scales) + n * (weight.in / 16) + first / 16;
    for (std::int64_t k = 0; k < count; ++k) panel[k * kPanel] *= e4m3_scale(scales[k / 16]);
  } else if (kind == Kind::Fp8 && scheme.block_columns > 0) {
    const std::int64_t per_row = (weight.in + scheme.block_columns - 1) / scheme.block_columns;
    for (std::int64_t k = 0; k < count; ++k) {
      panel[k * kPanel] *= float_scale(*scheme.scale, part.scales,
                                       n / scheme.block_rows * per_row + (first + k) / scheme.block_columns);
    }
  }
}

void widen_into_panel(Kind kind, const PackedWeight& weight, const WeightPart& part, std::int64_t n,
                      std::int64_t first, std::int64_t count, float* panel) {
  switch (kind) {
    case Kind::Bf16:
      return widen_into_panel<Kind::Bf16>(weight, part, n, first, count, panel);
    case Kind::Fp8:
      return widen_into_panel<Kind::Fp8>(weight, part, n, first, count, panel);
    case Kind::Nvfp4:
      return widen_into_panel<Kind::Nvfp4>(weight, part, n, first, count, panel);
  }
}

// sums [kRows, kPanel] += x [kRows, count] (rows `stride` apart) · panel [count, kPanel]
template <int kRows>
void tile(const float* x, std::int64_t stride, std::int64_t count, const float* panel, float* sums) {
  __m256 left[kRows], right[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    left[r] = _mm256_load_ps(sums + r * kPanel);
    right[r] = _mm256_load_ps(sums + r * kPanel + 8);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const __m256 w0 = _mm256_load_ps(panel + k * kPanel), w1 = _mm256_load_ps(panel + k * kPanel + 8);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_broadcast_ss(x + r * stride + k);
      left[r] = _mm256_fmadd_ps(value, w0, left[r]);
      right[r] = _mm256_fmadd_ps(value, w1, right[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    _mm256_store_ps(sums + r * kPanel, left[r]);
    _mm256_store_ps(sums + r * kPanel + 8, right[r]);
  }
}

void tile_of(std::int64_t rows, const float* x, std::int64_t stride, std::int64_t count, const float* panel,
             float* sums) {
  switch (rows) {
    case 1:
      return tile<1>(x, stride, count, panel, sums);
    case 2:
      return tile<2>(x, stride, count, panel, sums);
    case 3:
      return tile<3>(x, stride, count, panel, sums);
    case 4:
      return tile<4>(x, stride, count, panel, sums);
    case 5:
      return tile<5>(x, stride, count, panel, sums);
    default:
      return tile<6>(x, stride, count, panel, sums);
  }
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  Kind kind = Kind::Bf16;
  kind_of(weight.scheme, kind);
  const std::int64_t in = weight.in, rows = args.x.shape[0];
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  auto* x = static_cast<float*>(exec.scratch.take_bytes(scratch_bytes(args, 0)));
  ThreadPool& threads = static_cast<CpuDevice&>(exec.device).threads();
  threads.parallel_for(static_cast<std::size_t>(rows), [&](const ThreadPool::Chunk& chunk) {
    for (auto r = static_cast<std::int64_t>(chunk.begin); r < static_cast<std::int64_t>(chunk.end); ++r) {
      const auto* from = static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0];
      for (std::int64_t k = 0; k < in; ++k) x[r * in + k] = widened(from[k]);
    }
  });
  const std::int64_t panels = (weight.out + kPanel - 1) / kPanel;
  threads.parallel_for(static_cast<std::size_t>(panels), [&](const ThreadPool::Chunk& chunk) {
    alignas(32) float panel[kColumns * kPanel];
    alignas(32) float sums[kRowsAtATime * kPanel];
    float factors[kPanel];
    for (auto p = static_cast<std::int64_t>(chunk.begin); p < static_cast<std::int64_t>(chunk.end); ++p) {
      const std::int64_t outputs = weight.out - p * kPanel < kPanel ? weight.out - p * kPanel : kPanel;
      for (std::int64_t first_row = 0; first_row < rows; first_row += kRowsAtATime) {
        const std::int64_t some_rows = rows - first_row < kRowsAtATime ? rows - first_row : kRowsAtATime;
        __builtin_memset(sums, 0, static_cast<std::size_t>(some_rows * kPanel) * sizeof(float));
        for (std::int64_t first = 0; first < in; first += kColumns) {
          const std::int64_t count = in - first < kColumns ? in - first : kColumns;
          if (outputs < kPanel) __builtin_memset(panel, 0, sizeof(panel));
          for (std::int64_t j = 0; j < outputs; ++j) {
            const std::int64_t n = p * kPanel + j;
            const WeightPart& part = weight.part(0, n / rows_per_part);
            widen_into_panel(kind, weight, part, n % rows_per_part, first, count, panel + j);
            const quant::Scheme& scheme = weight.scheme;
            factors[j] =
                part.multiplier *
                (scheme.channel_scale ? float_scale(*scheme.scale, part.scales, n % rows_per_part) : 1.0f);
          }
          for (std::int64_t r = 0; r < some_rows; r += kTile) {
            tile_of(some_rows - r, x + (first_row + r) * in + first, in, count, panel, sums + r * kPanel);
          }
        }
        for (std::int64_t r = 0; r < some_rows; ++r) {
          for (std::int64_t j = 0; j < outputs; ++j) {
            const float value = sums[r * kPanel + j] * factors[j];
            const std::int64_t at = (first_row + r) * args.y.strides[0] + p * kPanel + j;
            if (args.y.dtype == DType::F32) {
              static_cast<float*>(args.y.data)[at] = value;
            } else {
              static_cast<std::uint16_t*>(args.y.data)[at] = narrowed(value);
            }
          }
        }
      }
    }
  });
}

}  // namespace

Candidate<Args> panels() {
  return {.order = 20, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx2
