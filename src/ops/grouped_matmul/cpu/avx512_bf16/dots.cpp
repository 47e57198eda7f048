// Dot products as matmul's (dot.hpp), experts as in cpu_dots.hpp.
#include "ops/grouped_matmul/cpu_dots.hpp"
#include "ops/matmul/cpu/avx512_bf16/dot.hpp"

namespace redline::ops::grouped_matmul::cpu_avx512_bf16 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx512_bf16) return {"needs a CPU with AVX-512 and BF16"};
  if (args.x.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"x or y is not BF16"};
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
      [&](const WeightPart& part, std::int64_t n, const std::uint16_t* const* rows, int count, float* sums) {
        row_times_x(weight, part, n, rows, count, sums);
      });
}

}  // namespace

Candidate<Args> dots() {
  return {.order = 3, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::grouped_matmul::cpu_avx512_bf16
