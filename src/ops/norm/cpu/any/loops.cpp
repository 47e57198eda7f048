// A row is read once into floats, with its sum of squares in sixteen lanes, and written in a second pass from
// the cache.
#include <cmath>

#include "ops/cpu_share.hpp"
#include "ops/lanes.hpp"
#include "ops/norm/norm.hpp"

namespace redline::ops::norm::cpu_any {
namespace {

constexpr std::int64_t kMostWidth =
    16384;  // the row's floats lie on the stack; the family's widest rows have 5120

bool fits(const TensorView& view) {
  return view.shape.dims == 0 || (is_row_type(view.dtype) && view.strides[2] == 1);
}

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (!fits(args.x) || !fits(args.y) || !fits(args.residual) || !fits(args.gate))
    return {"a tensor is neither BF16 nor F32, or its columns are strided"};
  if (!is_row_type(args.weight.dtype) || args.weight.strides[0] != 1)
    return {"the weight is neither BF16 nor F32, or strided"};
  if (args.x.shape[2] > kMostWidth) return {"rows wider than 16384"};
  return {};
}

Row group_of(const TensorView& view, std::int64_t row, std::int64_t group) {
  return view.shape.dims == 0 ? Row{} : row_at(view, row * view.strides[0] + group * view.strides[1]);
}

struct Rows {
  Row x, weight, y, residual, gate;
};

void norm_one(const Rows& rows, std::int64_t width, float epsilon, float centre, float* row) {
  float squares[kLanes] = {};
  for_blocks(width, [&](std::int64_t at, std::int64_t count) {
    float values[kLanes];
    load_block(rows.x, at, count, values);
    if (rows.residual.data != nullptr) {
      float before[kLanes];
      load_block(rows.residual, at, count, before);
      for (int j = 0; j < kLanes; ++j) values[j] += before[j];
      store_block(rows.residual, at, count, values);
    }
    for (int j = 0; j < kLanes; ++j) squares[j] += values[j] * values[j];
    for (int j = 0; j < kLanes; ++j) row[at + j] = values[j];
  });
  const float scale = 1 / std::sqrt(sum_of_lanes(squares) / static_cast<float>(width) + epsilon);
  for_blocks(width, [&](std::int64_t at, std::int64_t count) {
    float values[kLanes], weight[kLanes];
    load_block(rows.weight, at, count, weight);
    for (int j = 0; j < kLanes; ++j) values[j] = row[at + j] * scale * (centre + weight[j]);
    if (rows.gate.data != nullptr) {
      float gate[kLanes];
      load_block(rows.gate, at, count, gate);
      for (int j = 0; j < kLanes; ++j) values[j] *= gate[j] * sigmoid_of(gate[j]);
    }
    store_block(rows.y, at, count, values);
  });
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t groups = args.x.shape[1], width = args.x.shape[2];
  share_out(exec, args.x.shape[0] * groups, args.x.shape[0] * groups * width,
            [&](std::int64_t begin, std::int64_t end) {
              float row[kMostWidth + kLanes];
              for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t r = i / groups, g = i % groups;
                const Rows rows{group_of(args.x, r, g), row_at(args.weight, 0), group_of(args.y, r, g),
                                group_of(args.residual, r, g), group_of(args.gate, r, g)};
                norm_one(rows, width, args.epsilon, args.zero_centred ? 1.0f : 0.0f, row);
              }
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::norm::cpu_any
