// Few rows: dot products as in dot.hpp, work as in cpu_dots.hpp.
#include "ops/matmul/cpu/avx2/dot.hpp"
#include "ops/matmul/cpu_dots.hpp"

namespace redline::ops::matmul::cpu_avx2 {
namespace {

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
  return dots_scratch_bytes<float>(args, padded_width(args.weight->in));
}

void run(Exec& exec, const Args& args, int) {
  const PackedWeight& weight = *args.weight;
  Kind kind = Kind::Bf16;
  kind_of(weight.scheme, kind);
  run_dots<float>(
      exec, args, padded_width(weight.in),
      [&](const std::uint16_t* from, float* to) { widen_x_as(kind, from, weight.in, to); },
      [&](const WeightPart& part, std::int64_t n, const float* const* x, int rows, float* sums) {
        alignas(32) float scales[kMostBlocks];
        row_times_x(weight, part, n, kind, x, rows, scales, sums);
      });
}

}  // namespace

Candidate<Args> dots() {
  return {.order = 10, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::matmul::cpu_avx2
