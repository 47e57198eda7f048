// The formula, element by element.
#include <cmath>

#include "ops/combine/combine.hpp"
#include "ops/elements.hpp"

namespace redline::ops::combine {

void reference(const Args& args) {
  const std::int64_t choices = args.weights.shape[1];
  for_each_index(args.y.shape, [&](const Index& index) {
    const std::int64_t row = index[0], i = index[1];
    double sum = 0;
    for (std::int64_t c = 0; c < choices; ++c) sum += load(args.weights, {row, c}) * load(args.routed, {row * choices + c, i});
    if (args.shared.data != nullptr) sum += load(args.shared, {row, i}) / (1 + std::exp(-load(args.shared_gate, {row, 0})));
    store(args.y, index, sum);
  });
}

}  // namespace redline::ops::combine
