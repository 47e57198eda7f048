// Dot products as matmul's (dot.hpp), experts as in cpu_dots.hpp.
#include "ops/grouped_matmul/cpu_dots.hpp"
#include "ops/matmul/cpu/avx2/dot.hpp"

namespace redline::ops::grouped_matmul::cpu_avx2 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  Kind kind;
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (args.x.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"x or y is not BF16"};
  if (args.weight->layout != Layout::Plain) return {"weight is packed for another candidate"};
  if (args.weight->in > kMostInputs) return {"more than 65536 inputs"};
  if (!kind_of(args.weight->scheme, kind)) return {"weight is neither BF16 nor FP8 nor NVFP4"};
  return {};
}

std::size_t scratch_bytes(const Args& args, int) {
  return dots_scratch_bytes<float>(args, padded_width(args.weight->in));
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  Kind kind = Kind::Bf16;
  kind_of(weight.scheme, kind);
  run_dots<float>(
      exec, args, padded_width(weight.in),
      [&](const std::uint16_t* from, float* to) { widen_x_as(kind, from, weight.in, to); },
      [&](const WeightPart& part, std::int64_t n, const float* const* rows, int count, float* sums) {
        alignas(32) float scales[kMostBlocks];
        row_times_x(weight, part, n, kind, rows, count, scales, sums);
      });
}

}  // namespace

Candidate<Args> dots() {
  return {.order = 10, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::grouped_matmul::cpu_avx2
