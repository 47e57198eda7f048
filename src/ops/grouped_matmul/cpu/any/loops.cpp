// Portable: each output row n of each expert that any row chose is widened once and used for all rows that
// chose it. Work is shared out by (expert, output row), so that a single token keeps all threads busy too.
#include <vector>

#include "core/numbers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/grouped_matmul/grouped_matmul.hpp"
#include "ops/matmul/cpu/widen.hpp"

namespace redline::ops::grouped_matmul::cpu_any {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.x.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"x or y is not BF16"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t choices = args.experts.shape[1];
  const std::int64_t pairs = args.experts.shape[0] * choices;
  const bool shared = args.x.shape[0] == args.experts.shape[0];
  const auto* chosen = static_cast<const std::int32_t*>(args.experts.data);
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;

  // Pairs (row, choice) by expert.
  std::vector<std::vector<std::int64_t>> pairs_of(static_cast<std::size_t>(weight.matrices));
  for (std::int64_t p = 0; p < pairs; ++p) pairs_of[static_cast<std::size_t>(chosen[p])].push_back(p);
  std::vector<std::int64_t> active;
  for (std::int64_t e = 0; e < weight.matrices; ++e) {
    if (!pairs_of[static_cast<std::size_t>(e)].empty()) active.push_back(e);
  }

  const std::size_t items = active.size() * static_cast<std::size_t>(weight.out);
  static_cast<CpuDevice&>(exec.device).threads().parallel_for(items, [&](const ThreadPool::Chunk& chunk) {
    std::vector<float> row(static_cast<std::size_t>(weight.in));
    for (std::size_t item = chunk.begin; item < chunk.end; ++item) {
      const std::int64_t expert = active[item / static_cast<std::size_t>(weight.out)];
      const auto n = static_cast<std::int64_t>(item % static_cast<std::size_t>(weight.out));
      const WeightPart& part = weight.part(expert, n / rows_per_part);
      widen_row(weight, part, n % rows_per_part, row.data());
      for (const std::int64_t pair : pairs_of[static_cast<std::size_t>(expert)]) {
        const auto* x = static_cast<const std::uint16_t*>(args.x.data) +
                        (shared ? pair / choices : pair) * args.x.strides[0];
        float sum = 0;
        for (std::int64_t k = 0; k < weight.in; ++k)
          sum += from_bf16(x[k]) * row[static_cast<std::size_t>(k)];
        static_cast<std::uint16_t*>(args.y.data)[pair * args.y.strides[0] + n] =
            to_bf16(sum * part.multiplier);
      }
    }
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::grouped_matmul::cpu_any
