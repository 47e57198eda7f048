// Sixteen columns at a time through all choices of a row.
#include "ops/combine/combine.hpp"
#include "ops/cpu_share.hpp"
#include "ops/lanes.hpp"

namespace redline::ops::combine::cpu_any {
namespace {

bool fits(const TensorView& view) {
  return view.shape.dims == 0 || (is_row_type(view.dtype) && (view.shape[1] == 1 || view.strides[1] == 1));
}

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (!fits(args.routed) || !fits(args.y) || !fits(args.shared) || !fits(args.shared_gate))
    return {"a tensor is neither BF16 nor F32, or strided"};
  if (args.weights.dtype != DType::F32 || args.weights.strides[1] != 1)
    return {"weights are not F32, or strided"};
  return {};
}

void combine_one(const Args& args, std::int64_t r) {
  const std::int64_t choices = args.weights.shape[1];
  const float* weights = static_cast<const float*>(args.weights.data) + r * args.weights.strides[0];
  const Row y = row_at(args.y, r * args.y.strides[0]);
  const bool has_shared = args.shared.shape.dims > 0;
  Row shared;
  float gate[kLanes] = {};
  if (has_shared) {
    shared = row_at(args.shared, r * args.shared.strides[0]);
    load_block(row_at(args.shared_gate, r * args.shared_gate.strides[0]), 0, 1, gate);
    gate[0] = sigmoid_of(gate[0]);
  }
  for_blocks(args.y.shape[1], [&](std::int64_t at, std::int64_t count) {
    float sum[kLanes] = {}, values[kLanes];
    for (std::int64_t c = 0; c < choices; ++c) {
      load_block(row_at(args.routed, (r * choices + c) * args.routed.strides[0]), at, count, values);
      const float weight = weights[c];
      for (int j = 0; j < kLanes; ++j) sum[j] += weight * values[j];
    }
    if (has_shared) {
      load_block(shared, at, count, values);
      const float weight = gate[0];
      for (int j = 0; j < kLanes; ++j) sum[j] += weight * values[j];
    }
    store_block(y, at, count, sum);
  });
}

void run(Exec& exec, const Args& args, int) {
  share_out(exec, args.y.shape[0], args.y.shape[0] * args.y.shape[1] * (args.weights.shape[1] + 1),
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t r = begin; r < end; ++r) combine_one(args, r);
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::combine::cpu_any
