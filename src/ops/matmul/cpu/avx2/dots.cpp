// Few rows: every weight row is streamed once and multiplied with all rows of x (dot.hpp). Bound by memory
// for one row; output rows are shared out among the threads in equal, contiguous pieces, so that each reads
// one long stream.
#include "device/cpu/cpu_device.hpp"
#include "ops/matmul/cpu/avx2/dot.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul::cpu_avx2 {
namespace {

constexpr std::int64_t kMostRows =
    16;  // from here on panels.cpp, which widens a weight once for all rows, is faster

Verdict supports(const DeviceInfo& device, const Args& args) {
  Kind kind;
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  if (!kind_of(args.weight->scheme, kind)) return {"weight is neither BF16 nor FP8 nor NVFP4"};
  if (args.weight->in > kMostInputs) return {"more than 65536 inputs"};
  if (args.x.shape[0] > kMostRows) return {"more than 16 rows"};
  return {};
}

std::size_t scratch_bytes(const Args& args, int) {
  return static_cast<std::size_t>(args.x.shape[0] * padded_width(args.weight->in)) * sizeof(float);
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  Kind kind = Kind::Bf16;
  kind_of(weight.scheme, kind);
  const std::int64_t width = padded_width(weight.in);
  const auto rows = static_cast<int>(args.x.shape[0]);
  auto* widened = static_cast<float*>(exec.scratch.take_bytes(scratch_bytes(args, 0)));
  const float* x[kMostRows];
  for (int r = 0; r < rows; ++r) {
    widen_x_as(kind, static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0], weight.in,
               widened + r * width);
    x[r] = widened + r * width;
  }
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(weight.out), [&](const ThreadPool::Chunk& chunk) {
        alignas(32) float scales[kMostBlocks];
        float sums[kMostRows];
        for (auto n = static_cast<std::int64_t>(chunk.begin); n < static_cast<std::int64_t>(chunk.end); ++n) {
          row_times_x(weight, weight.part(0, n / rows_per_part), n % rows_per_part, kind, x, rows, scales,
                      sums);
          for (int r = 0; r < rows; ++r) {
            if (args.y.dtype == DType::F32) {
              static_cast<float*>(args.y.data)[r * args.y.strides[0] + n] = sums[r];
            } else {
              static_cast<std::uint16_t*>(args.y.data)[r * args.y.strides[0] + n] = narrowed(sums[r]);
            }
          }
        }
      });
}

}  // namespace

Candidate<Args> dots() {
  return {.order = 10, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx2
