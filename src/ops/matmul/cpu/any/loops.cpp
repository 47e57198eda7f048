// Portable matrix product for every scheme: a row of the weight is widened to float once and used for all
// rows of x. Output rows are shared out among the threads. The yardstick of correctness for faster
// candidates, not of speed.
#include <vector>

#include "core/numbers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/matmul/cpu/widen.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul::cpu_any {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t in = weight.in;
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(weight.out), [&](const ThreadPool::Chunk& chunk) {
        std::vector<float> row(static_cast<std::size_t>(in));
        for (auto n = static_cast<std::int64_t>(chunk.begin); n < static_cast<std::int64_t>(chunk.end); ++n) {
          const WeightPart& part = weight.part(0, n / rows_per_part);
          widen_row(weight, part, n % rows_per_part, row.data());
          for (std::int64_t r = 0; r < args.x.shape[0]; ++r) {
            const auto* x = static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0];
            float sum = 0;
            for (std::int64_t k = 0; k < in; ++k) sum += from_bf16(x[k]) * row[static_cast<std::size_t>(k)];
            sum *= part.multiplier;
            if (args.y.dtype == DType::F32) {
              static_cast<float*>(args.y.data)[r * args.y.strides[0] + n] = sum;
            } else {
              static_cast<std::uint16_t*>(args.y.data)[r * args.y.strides[0] + n] = to_bf16(sum);
            }
          }
        }
      });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::matmul::cpu_any
