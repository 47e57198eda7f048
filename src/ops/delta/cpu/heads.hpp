// What the CPU candidates share: where a value head of a sequence has its numbers, its gates, and normalised
// queries and keys. All is in an unnamed namespace, because files that include it are compiled for different
// vector units.
#pragma once

#include "core/error.hpp"
#include "ops/cpu_share.hpp"
#include "ops/delta/delta.hpp"

namespace redline::ops::delta {
namespace {

constexpr std::int64_t kMostWidth = 128;

inline Verdict supports_types(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.qkv.dtype != DType::BF16 || args.a.dtype != DType::BF16 || args.b.dtype != DType::BF16)
    return {"qkv, a or b is not BF16"};
  if (args.y.dtype != DType::BF16) return {"y is not BF16"};
  if (!is_parameter(args.decay_log.dtype) || !is_parameter(args.time_bias.dtype))
    return {"A_log or dt_bias is neither BF16 nor F32"};
  if (args.key_dim > kMostWidth || args.value_dim > kMostWidth) return {"heads wider than 128"};
  return {};
}

// One value head of one sequence.
struct Head {
  const Args& args;
  std::int64_t head, key_head, begin, rows;
  std::int32_t count;
  bool into_ring;
  float *state, *keys, *corrections, *decays;

  bool folds() const { return count > 0 && (!into_ring || count + rows > kRingRows); }
  std::int64_t first_place() const {
    return count + rows > kRingRows ? 0 : count;
  }  // of new rows in the ring
  float* key(std::int64_t j) const { return keys + j * args.key_heads * args.key_dim; }
  float* correction(std::int64_t j) const { return corrections + j * args.value_heads * args.value_dim; }
  float& decay(std::int64_t j) const { return decays[j * args.value_heads]; }
  const std::uint16_t* row(std::int64_t i) const {
    return static_cast<const std::uint16_t*>(args.qkv.data) + (begin + i) * args.qkv.strides[0];
  }
  const std::uint16_t* query_of(std::int64_t i) const { return row(i) + key_head * args.key_dim; }
  const std::uint16_t* key_of(std::int64_t i) const {
    return row(i) + (args.key_heads + key_head) * args.key_dim;
  }
  const std::uint16_t* value_of(std::int64_t i) const {
    return row(i) + 2 * args.key_heads * args.key_dim + head * args.value_dim;
  }
  std::uint16_t* y_of(std::int64_t i) const {
    return static_cast<std::uint16_t*>(args.y.data) + (begin + i) * args.y.strides[0] +
           head * args.y.strides[1];
  }
  float gate_input(const TensorView& view, std::int64_t i) const {
    return widened(
        static_cast<const std::uint16_t*>(view.data)[(begin + i) * view.strides[0] + head * view.strides[1]]);
  }
  float beta(std::int64_t i) const { return 1 / (1 + __builtin_expf(-gate_input(args.b, i))); }
  float log_decay(std::int64_t i) const {  // g
    const float x = gate_input(args.a, i) + parameter(args.time_bias, head);
    return -__builtin_expf(parameter(args.decay_log, head)) *
           (x > 20 ? x : __builtin_log1pf(__builtin_expf(x)));
  }
};

inline Head head_of(const Args& args, std::int64_t sequence, std::int64_t head) {
  const SlotLayout layout = slot_layout(args.key_heads, args.value_heads, args.key_dim, args.value_dim);
  const std::int32_t slot = integers(args.ring.slots)[sequence];
  auto* floats = reinterpret_cast<float*>(static_cast<char*>(args.state.data) + slot * args.state.strides[0]);
  const std::int64_t key_head = head / (args.value_heads / args.key_heads),
                     begin = integers(args.ring.row_begin)[sequence];
  return {.args = args,
          .head = head,
          .key_head = key_head,
          .begin = begin,
          .rows = integers(args.ring.row_begin)[sequence + 1] - begin,
          .count = integers(args.ring.counts)[slot],
          .into_ring = integers(args.ring.into_ring)[sequence] != 0,
          .state = floats + layout.state + head * args.key_dim * args.value_dim,
          .keys = floats + layout.keys + key_head * args.key_dim,
          .corrections = floats + layout.corrections + head * args.value_dim,
          .decays = floats + layout.decays + head};
}

// x / sqrt(Σx² + 1e-6) · scale, the squares added in eight strands.
inline void normalise(const std::uint16_t* x, std::int64_t count, float scale, float* y) {
  float strands[8] = {};
  for (std::int64_t i = 0; i < count; ++i) y[i] = widened(x[i]);
  for (std::int64_t i = 0; i + 8 <= count; i += 8) {
#pragma GCC unroll 8
    for (int lane = 0; lane < 8; ++lane) strands[lane] += y[i + lane] * y[i + lane];
  }
  for (std::int64_t i = count / 8 * 8; i < count; ++i) strands[0] += y[i] * y[i];
  const float squares = ((strands[0] + strands[1]) + (strands[2] + strands[3])) +
                        ((strands[4] + strands[5]) + (strands[6] + strands[7]));
  const float factor = scale / __builtin_sqrtf(squares + 1e-6f);
  for (std::int64_t i = 0; i < count; ++i) y[i] *= factor;
}

inline float query_scale(const Args& args) { return 1 / __builtin_sqrtf(static_cast<float>(args.key_dim)); }

// Every head of every sequence, shared out among the threads. New keys go into the ring last: value heads
// that share a key head still read the old ones.
template <class Body>
inline void for_each_head(Exec& exec, const Args& args, Body&& body) {
  const std::int64_t sequences = args.ring.slots.shape[0];
  for (std::int64_t s = 0; s < sequences; ++s) {
    const Head head = head_of(args, s, 0);
    ensure(!head.into_ring || head.rows <= kRingRows, "{} rows for a ring of {}", head.rows, kRingRows);
  }
  const std::int64_t work = (args.y.shape[0] + sequences) * args.value_heads * args.key_dim * args.value_dim;
  share_out(exec, sequences * args.value_heads, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item)
      body(head_of(args, item / args.value_heads, item % args.value_heads));
  });
  for (std::int64_t s = 0; s < sequences; ++s) {
    for (std::int64_t head = 0; head < args.value_heads; head += args.value_heads / args.key_heads) {
      const Head one = head_of(args, s, head);
      for (std::int64_t i = 0; one.into_ring && i < one.rows; ++i)
        normalise(one.key_of(i), args.key_dim, 1, one.key(one.first_place() + i));
    }
  }
}

}  // namespace
}  // namespace redline::ops::delta
