// Softmax over all experts in double, a stable sort, the chosen ones renormalised.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/elements.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route {

void reference(const Args& args) {
  const std::int64_t rows = args.logits.shape[0], experts = args.logits.shape[1], choices = args.experts.shape[1];
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<double> p;
    for (std::int64_t e = 0; e < experts; ++e) p.push_back(load(args.logits, {row, e}));
    const double best = *std::max_element(p.begin(), p.end());
    double total = 0;
    for (double& value : p) total += value = std::exp(value - best);
    for (double& value : p) value /= total;
    std::vector<std::int64_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)]; });
    double chosen = 0;
    for (std::int64_t c = 0; c < choices; ++c) chosen += p[static_cast<std::size_t>(order[static_cast<std::size_t>(c)])];
    for (std::int64_t c = 0; c < choices; ++c) {
      const std::int64_t e = order[static_cast<std::size_t>(c)];
      static_cast<std::int32_t*>(args.experts.data)[row * args.experts.strides[0] + c] = static_cast<std::int32_t>(e);
      store(args.weights, {row, c}, p[static_cast<std::size_t>(e)] / chosen);
    }
  }
}

}  // namespace redline::ops::route
