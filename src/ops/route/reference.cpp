// The formula as it is written: softmax over all, the largest, divided by their sum. Which is larger is asked
// of the logits, of which the softmax is a rising function: two that differ may have equal powers in double.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/elements.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route {

void reference(const Args& args) {
  const std::int64_t rows = args.logits.shape[0], choices = args.experts.shape[1];
  const auto experts = static_cast<std::size_t>(args.logits.shape[1]);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> logits(experts), shares(experts);
    for (std::size_t e = 0; e < experts; ++e) {
      logits[e] = load(args.logits, {r, static_cast<std::int64_t>(e)});
      if (std::isnan(logits[e])) logits[e] = -INFINITY;
    }
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e) sum += shares[e] = std::exp(logits[e] - largest);
    for (double& share : shares) share /= sum;

    std::vector<std::int32_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
    });
    double chosen = 0;
    for (std::int64_t c = 0; c < choices; ++c)
      chosen += shares[static_cast<std::size_t>(order[static_cast<std::size_t>(c)])];
    for (std::int64_t c = 0; c < choices; ++c) {
      const std::int32_t expert = order[static_cast<std::size_t>(c)];
      store(args.experts, {r, c}, expert);
      store(args.weights, {r, c}, shares[static_cast<std::size_t>(expert)] / chosen);
    }
  }
}

}  // namespace redline::ops::route
