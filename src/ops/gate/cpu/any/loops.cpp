// In blocks that the compiler vectorises, e^x by a polynomial.
#include "ops/cpu_share.hpp"
#include "ops/gate/gate.hpp"
#include "ops/lanes.hpp"

namespace redline::ops::gate::cpu_any {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  for (const TensorView* view : {&args.a, &args.b, &args.y}) {
    if (!is_row_type(view->dtype)) return {"a tensor is neither BF16 nor F32"};
    if (view->strides[1] != 1) return {"columns are strided"};
  }
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const bool silu = args.kind == Kind::SiluMul;
  share_out(exec, args.y.shape[0], args.y.shape[0] * args.y.shape[1],
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t r = begin; r < end; ++r) {
                const Row row_a = row_at(args.a, r * args.a.strides[0]),
                          row_b = row_at(args.b, r * args.b.strides[0]);
                const Row row_y = row_at(args.y, r * args.y.strides[0]);
                for_blocks(args.y.shape[1], [&](std::int64_t at, std::int64_t count) {
                  float a[kLanes], b[kLanes], y[kLanes];
                  load_block(row_a, at, count, a);
                  load_block(row_b, at, count, b);
                  for (int j = 0; j < kLanes; ++j) y[j] = sigmoid_of(a[j]) * b[j];
                  if (silu) {
                    for (int j = 0; j < kLanes; ++j) y[j] *= a[j];
                  }
                  store_block(row_y, at, count, y);
                });
              }
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::gate::cpu_any
