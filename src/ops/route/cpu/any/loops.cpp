// Portable: the choices are the softmax over the chosen logits alone, which is the same as renormalising the softmax over all. Insertion keeps the best in order.
#include <cmath>

#include "core/numbers.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route::cpu_any {
namespace {

constexpr std::int64_t kMostChoices = 64;

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.logits.dtype != DType::BF16 && args.logits.dtype != DType::F32) return {"logits are neither BF16 nor F32"};
  if (args.experts.shape[1] > kMostChoices) return {"more than 64 choices"};
  return {};
}

float logit(const Args& args, std::int64_t row, std::int64_t expert) {
  const std::int64_t i = row * args.logits.strides[0] + expert;
  return args.logits.dtype == DType::F32 ? static_cast<const float*>(args.logits.data)[i] : from_bf16(static_cast<const std::uint16_t*>(args.logits.data)[i]);
}

void run(Exec&, const Args& args, int) {
  const std::int64_t experts = args.logits.shape[1], choices = args.experts.shape[1];
  for (std::int64_t row = 0; row < args.logits.shape[0]; ++row) {
    auto* ids = static_cast<std::int32_t*>(args.experts.data) + row * args.experts.strides[0];
    auto* weights = static_cast<float*>(args.weights.data) + row * args.weights.strides[0];
    std::int64_t held = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const float value = logit(args, row, e);
      // Only a larger one overtakes, so of equal ones the lower id stays in front. A NaN overtakes nothing.
      if (held == choices && !(value > weights[choices - 1])) continue;
      std::int64_t place = held < choices ? held++ : choices - 1;
      for (; place > 0 && value > weights[place - 1]; --place) {
        weights[place] = weights[place - 1];
        ids[place] = ids[place - 1];
      }
      weights[place] = value;
      ids[place] = static_cast<std::int32_t>(e);
    }
    const float best = weights[0];
    float total = 0;
    for (std::int64_t c = 0; c < choices; ++c) total += weights[c] = std::exp(weights[c] - best);
    for (std::int64_t c = 0; c < choices; ++c) weights[c] /= total;
  }
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::route::cpu_any
