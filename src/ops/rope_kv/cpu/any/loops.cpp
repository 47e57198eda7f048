// Rows are shared out among the threads; a row's cosines and sines serve all of its heads. Angles are
// products in double: at the far end of a long context a product in fp32 is already off by a hundredth of a
// radian.
#include <cmath>

#include "ops/cpu_share.hpp"
#include "ops/rope_kv/rope_kv.hpp"

namespace redline::ops::rope_kv::cpu_any {
namespace {

constexpr std::int64_t kMostWidth = 512;

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.query_gate.dtype != DType::BF16 || args.key.dtype != DType::BF16 ||
      args.value.dtype != DType::BF16)
    return {"projections are not BF16"};
  if (args.query.dtype != DType::BF16 || args.kv.dtype != DType::BF16) return {"query or cache is not BF16"};
  if (!is_parameter(args.query_norm.dtype) || !is_parameter(args.key_norm.dtype))
    return {"norms are neither BF16 nor F32"};
  if (args.query.shape[2] > kMostWidth) return {"heads wider than 512"};
  return {};
}

struct Rotation {
  std::int64_t pairs;
  float cosine[kMostWidth / 2], sine[kMostWidth / 2];
};

void norm_and_turn(const std::uint16_t* x, const float* factors, std::int64_t width, float epsilon,
                   const Rotation& rotation, std::uint16_t* y) {
  float n[kMostWidth];
  float parts[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= width; i += 8) {
    for (int lane = 0; lane < 8; ++lane) parts[lane] += widened(x[i + lane]) * widened(x[i + lane]);
  }
  for (; i < width; ++i) parts[0] += widened(x[i]) * widened(x[i]);
  const float squares =
      ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
  const float inverse = 1 / std::sqrt(squares / static_cast<float>(width) + epsilon);
  for (i = 0; i < width; ++i) n[i] = widened(x[i]) * inverse * factors[i];
  for (i = 0; i < rotation.pairs; ++i) {
    const float low = n[i], high = n[i + rotation.pairs];
    n[i] = low * rotation.cosine[i] - high * rotation.sine[i];
    n[i + rotation.pairs] = high * rotation.cosine[i] + low * rotation.sine[i];
  }
  for (i = 0; i < width; ++i) y[i] = narrowed(n[i]);
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t rows = args.query.shape[0], heads = args.query.shape[1], kv_heads = args.key.shape[1],
                     width = args.query.shape[2];
  const std::int64_t page_tokens = args.kv.shape[3], sequences = args.row_begin.shape[0] - 1;
  float query_factors[kMostWidth], key_factors[kMostWidth];
  for (std::int64_t i = 0; i < width; ++i) {
    query_factors[i] = 1 + parameter(args.query_norm, i);
    key_factors[i] = 1 + parameter(args.key_norm, i);
  }
  const std::int32_t* row_begin = integers(args.row_begin);
  share_out(exec, rows, rows * (heads + kv_heads) * width * 4, [&](std::int64_t begin, std::int64_t end) {
    Rotation rotation;
    rotation.pairs = args.frequencies.shape[0];
    std::int64_t s = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      while (s + 1 < sequences && row >= row_begin[s + 1]) ++s;
      for (std::int64_t i = 0; i < rotation.pairs; ++i) {
        const double angle = static_cast<double>(integers(args.positions)[row]) *
                             static_cast<double>(static_cast<const float*>(args.frequencies.data)[i]);
        rotation.cosine[i] = static_cast<float>(std::cos(angle)) * args.rotation_scale;
        rotation.sine[i] = static_cast<float>(std::sin(angle)) * args.rotation_scale;
      }
      const auto head_of = [row](const TensorView& view, std::int64_t head) {
        return static_cast<std::uint16_t*>(view.data) + row * view.strides[0] + head * view.strides[1];
      };
      for (std::int64_t head = 0; head < heads; ++head) {
        norm_and_turn(head_of(args.query_gate, head), query_factors, width, args.epsilon, rotation,
                      head_of(args.query, head));
      }
      const std::int64_t token = integers(args.kv_lengths)[s] - (row_begin[s + 1] - row);
      const std::int64_t page = integers(args.pages)[integers(args.page_begin)[s] + token / page_tokens];
      for (std::int64_t head = 0; head < kv_heads; ++head) {
        std::uint16_t* key = static_cast<std::uint16_t*>(args.kv.data) + page * args.kv.strides[0] +
                             head * args.kv.strides[2] + token % page_tokens * args.kv.strides[3];
        norm_and_turn(head_of(args.key, head), key_factors, width, args.epsilon, rotation, key);
        __builtin_memcpy(key + args.kv.strides[1], head_of(args.value, head),
                         static_cast<std::size_t>(width) * sizeof(*key));
      }
    }
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::rope_kv::cpu_any
