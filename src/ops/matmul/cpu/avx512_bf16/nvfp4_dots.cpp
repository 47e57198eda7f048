// Few rows and NVFP4 weights: every weight row is streamed once and multiplied with all rows of x
// (nvfp4_dot.hpp); output rows are shared out among the threads in equal, contiguous pieces, so that each
// reads one long stream.
#include "device/cpu/cpu_device.hpp"
#include "ops/matmul/cpu/avx512_bf16/nvfp4_dot.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul::cpu_avx512_bf16 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx512_bf16) return {"needs a CPU with AVX-512 and BF16"};
  if (!is_plain_nvfp4(*args.weight)) return {"weight is not plain NVFP4"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.x.shape[0] > kMostRows) return {"more than 16 rows"};
  return {};
}

std::size_t scratch_bytes(const Args& args, int) {
  return static_cast<std::size_t>(args.x.shape[0] * padded_width(args.weight->in)) * sizeof(std::uint16_t);
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t width = padded_width(weight.in);
  const auto rows = static_cast<int>(args.x.shape[0]);
  auto* ordered = static_cast<std::uint16_t*>(exec.scratch.take_bytes(scratch_bytes(args, 0)));
  const std::uint16_t* x[kMostRows];
  for (int r = 0; r < rows; ++r) {
    order_x(static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0], weight.in,
            ordered + r * width);
    x[r] = ordered + r * width;
  }
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(weight.out), [&](const ThreadPool::Chunk& chunk) {
        float sums[kMostRows];
        for (auto n = static_cast<std::int64_t>(chunk.begin); n < static_cast<std::int64_t>(chunk.end); ++n) {
          row_times_x(weight, weight.part(0, n / rows_per_part), n % rows_per_part, x, rows, sums);
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

Candidate<Args> nvfp4_dots() {
  return {.order = 3, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx512_bf16
