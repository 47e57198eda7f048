// Two passes over the tokens that a row sees, one (row, head) at a time; these are shared out among the
// threads.
#include <cmath>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/cpu_share.hpp"

namespace redline::ops::attention::cpu_any {
namespace {

constexpr std::int64_t kMostWidth = 512;

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.query.dtype != DType::BF16 || args.kv.dtype != DType::BF16 || args.y.dtype != DType::BF16)
    return {"query, cache or y is not BF16"};
  if (args.query_gate.shape.dims != 0 && args.query_gate.dtype != DType::BF16) return {"gate is not BF16"};
  if (args.query.shape[2] > kMostWidth) return {"heads wider than 512"};
  return {};
}

std::int64_t most_tokens(const Args& args) { return args.pages.shape[0] * args.kv.shape[3]; }

void attend(const Args& args, std::int64_t s, std::int64_t row, std::int64_t head,
            std::vector<float>& weights) {
  const std::int64_t width = args.query.shape[2], page_tokens = args.kv.shape[3];
  const std::int64_t seen = integers(args.kv_lengths)[s] - (integers(args.row_begin)[s + 1] - row) + 1;
  const std::int32_t* pages = integers(args.pages) + integers(args.page_begin)[s];
  const auto* cache = static_cast<const std::uint16_t*>(args.kv.data) +
                      head / (args.query.shape[1] / args.kv.shape[2]) * args.kv.strides[2];
  const auto cached = [&](std::int64_t part, std::int64_t token) {
    return cache + pages[token / page_tokens] * args.kv.strides[0] + part * args.kv.strides[1] +
           token % page_tokens * args.kv.strides[3];
  };
  float q[kMostWidth], sums[kMostWidth] = {};
  const auto* query = static_cast<const std::uint16_t*>(args.query.data) + row * args.query.strides[0] +
                      head * args.query.strides[1];
  for (std::int64_t i = 0; i < width; ++i) q[i] = widened(query[i]) * args.scale;

  float most = -INFINITY, total = 0;
  weights.resize(static_cast<std::size_t>(seen));
  for (std::int64_t token = 0; token < seen; ++token) {
    const std::uint16_t* k = cached(0, token);
    float score = 0;
    for (std::int64_t i = 0; i < width; ++i) score += q[i] * widened(k[i]);
    weights[static_cast<std::size_t>(token)] = score;
    if (score > most) most = score;
  }
  for (std::int64_t token = 0; token < seen; ++token) {
    const float weight = std::exp(weights[static_cast<std::size_t>(token)] - most);
    total += weight;
    const std::uint16_t* v = cached(1, token);
    for (std::int64_t i = 0; i < width; ++i) sums[i] += weight * widened(v[i]);
  }
  auto* y = static_cast<std::uint16_t*>(args.y.data) + row * args.y.strides[0] + head * args.y.strides[1];
  for (std::int64_t i = 0; i < width; ++i) sums[i] /= total;
  if (args.query_gate.shape.dims != 0) {
    const auto* gate = static_cast<const std::uint16_t*>(args.query_gate.data) +
                       row * args.query_gate.strides[0] + head * args.query_gate.strides[1] + width;
    for (std::int64_t i = 0; i < width; ++i) sums[i] /= 1 + std::exp(-widened(gate[i]));
  }
  for (std::int64_t i = 0; i < width; ++i) y[i] = narrowed(sums[i]);
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t rows = args.query.shape[0], heads = args.query.shape[1],
                     sequences = args.row_begin.shape[0] - 1;
  share_out(exec, rows * heads, rows * heads * args.query.shape[2] * most_tokens(args),
            [&](std::int64_t begin, std::int64_t end) {
              std::vector<float> weights;
              std::int64_t s = 0;
              for (std::int64_t item = begin; item < end; ++item) {
                while (s + 1 < sequences && item / heads >= integers(args.row_begin)[s + 1]) ++s;
                attend(args, s, item / heads, item % heads, weights);
              }
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::attention::cpu_any
