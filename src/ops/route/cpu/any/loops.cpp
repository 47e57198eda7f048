// One scan of a row: the best so far stand sorted, and a logit that does not beat the last of them costs one
// comparison.
#include <cmath>

#include "ops/cpu_share.hpp"
#include "ops/lanes.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route::cpu_any {
namespace {

constexpr std::int64_t kMostChoices = 64;

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (!is_row_type(args.logits.dtype) || args.logits.strides[1] != 1)
    return {"logits are neither BF16 nor F32, or strided"};
  if (args.experts.shape[1] > kMostChoices || args.experts.shape[1] > args.logits.shape[1])
    return {"more choices than experts, or than 64"};
  if (args.weights.dtype != DType::F32 || args.weights.strides[1] != 1 || args.experts.strides[1] != 1)
    return {"weights are not F32, or outputs strided"};
  return {};
}

struct Best {
  float logits[kMostChoices];
  std::int32_t experts[kMostChoices];
  std::int64_t count = 0;

  // Ids come rising, so an equal one stays behind.
  void offer(float logit, std::int32_t expert, std::int64_t most) {
    std::int64_t at = count < most ? count++ : most - 1;
    for (; at > 0 && logit > logits[at - 1]; --at) {
      logits[at] = logits[at - 1];
      experts[at] = experts[at - 1];
    }
    logits[at] = logit;
    experts[at] = expert;
  }
};

void route_one(const Row& row, std::int64_t experts, std::int64_t choices, std::int32_t* chosen,
               float* weights) {
  Best best;
  for_blocks(experts, [&](std::int64_t at, std::int64_t count) {
    float logits[kLanes];
    load_block(row, at, count, logits);
    for (std::int64_t j = 0; j < count; ++j) {
      // A NaN is the least, so that ids stay distinct whatever comes.
      const float logit = std::isnan(logits[j]) ? -INFINITY : logits[j];
      if (best.count < choices || logit > best.logits[choices - 1])
        best.offer(logit, static_cast<std::int32_t>(at + j), choices);
    }
  });
  float sum = 0;
  for (std::int64_t c = 0; c < choices; ++c) sum += weights[c] = std::exp(best.logits[c] - best.logits[0]);
  for (std::int64_t c = 0; c < choices; ++c) {
    weights[c] /= sum;
    chosen[c] = best.experts[c];
  }
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t experts = args.logits.shape[1], choices = args.experts.shape[1];
  share_out(exec, args.logits.shape[0], args.logits.shape[0] * experts,
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t r = begin; r < end; ++r) {
                route_one(row_at(args.logits, r * args.logits.strides[0]), experts, choices,
                          static_cast<std::int32_t*>(args.experts.data) + r * args.experts.strides[0],
                          static_cast<float*>(args.weights.data) + r * args.weights.strides[0]);
              }
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::route::cpu_any
