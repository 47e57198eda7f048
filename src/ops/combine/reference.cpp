// The formula, element by element.
#include <cmath>

#include "ops/combine/combine.hpp"
#include "ops/elements.hpp"

namespace redline::ops::combine {

void reference(const Args& args) {
  const std::int64_t choices = args.weights.shape[1];
  for_each_index(args.y.shape, [&](const Index& index) {
    const std::int64_t r = index[0], k = index[1];
    double sum = 0;
    for (std::int64_t c = 0; c < choices; ++c)
      sum += load(args.weights, {r, c}) * load(args.routed, {r * choices + c, k});
    if (args.shared.shape.dims > 0)
      sum += load(args.shared, index) / (1 + std::exp(-load(args.shared_gate, {r, 0})));
    store(args.y, index, sum);
  });
}

}  // namespace redline::ops::combine
