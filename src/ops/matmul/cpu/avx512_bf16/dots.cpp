// Few rows: dot products as in dot.hpp, work as in cpu_dots.hpp.
#include "ops/matmul/cpu/avx512_bf16/dot.hpp"
#include "ops/matmul/cpu_dots.hpp"

namespace redline::ops::matmul::cpu_avx512_bf16 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx512_bf16) return {"needs a CPU with AVX-512 and BF16"};
  if (args.x.dtype != DType::BF16) return {"x is not BF16"};
  if (args.y.dtype != DType::BF16 && args.y.dtype != DType::F32) return {"y is neither BF16 nor F32"};
  if (args.x.shape[0] > kMostRows) return {"more than 16 rows"};
  return supports_weight(*args.weight);
}

std::size_t scratch_bytes(const Args& args, int) {
  return dots_scratch_bytes<std::uint16_t>(args, padded_width(args.weight->in));
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  run_dots<std::uint16_t>(
      exec, args, padded_width(weight.in),
      [&](const std::uint16_t* from, std::uint16_t* to) { prepare_x(weight, from, to); },
      [&](const WeightPart& part, std::int64_t n, const std::uint16_t* const* x, int rows, float* sums) {
        row_times_x(weight, part, n, x, rows, sums);
      });
}

}  // namespace

Candidate<Args> dots() {
  return {.order = 3, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx512_bf16
