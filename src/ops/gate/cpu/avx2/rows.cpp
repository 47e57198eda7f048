// Eight elements at a time.
#include "ops/cpu_share.hpp"
#include "ops/gate/gate.hpp"
#include "ops/lanes_avx2.hpp"

namespace redline::ops::gate::cpu_avx2 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  for (const TensorView* view : {&args.a, &args.b, &args.y}) {
    if (!is_row_type(view->dtype)) return {"a tensor is neither BF16 nor F32"};
    if (view->strides[1] != 1) return {"columns are strided"};
  }
  return {};
}

template <bool silu>
void gate_rows(const Args& args, std::int64_t begin, std::int64_t end) {
  const auto gated = [](__m256 a, __m256 b) {
    return _mm256_mul_ps(sigmoid_of(a), silu ? _mm256_mul_ps(a, b) : b);
  };
  for (std::int64_t r = begin; r < end; ++r) {
    const Row a = row_at(args.a, r * args.a.strides[0]), b = row_at(args.b, r * args.b.strides[0]),
              y = row_at(args.y, r * args.y.strides[0]);
    for_eights(
        args.y.shape[1],
        [&](std::int64_t at) { store_eight(y, at, gated(load_eight(a, at), load_eight(b, at))); },
        [&](std::int64_t at, std::int64_t count) {
          store_some(y, at, count, gated(load_some(a, at, count), load_some(b, at, count)));
        });
  }
}

void run(Exec& exec, const Args& args, int) {
  share_out(
      exec, args.y.shape[0], args.y.shape[0] * args.y.shape[1], [&](std::int64_t begin, std::int64_t end) {
        args.kind == Kind::SiluMul ? gate_rows<true>(args, begin, end) : gate_rows<false>(args, begin, end);
      });
}

}  // namespace

Candidate<Args> rows() { return {.order = 10, .supports = supports, .run = run}; }

}  // namespace redline::ops::gate::cpu_avx2
