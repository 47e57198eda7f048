// Picks a candidate and calls it; how exact a sum must be.
#include "ops/combine/combine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::combine {

void run(Exec& exec, const Args& args) { dispatch(exec, Operation<Args>{"combine", candidates(), reference}, args); }

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} choices={} width={}{}", row_bucket(args.y.shape[0]), args.weights.shape[1], args.y.shape[1], args.shared.data != nullptr ? " shared" : "")};
}

// choices + 1 products summed in fp32, each off by at most one unit of 2^-24 of the sum of their sizes; the sigmoid by a few more. Weights sum to 1, so that sum is at
// most the largest input twice. y is rounded once.
Tolerance tolerance(const Args& args) {
  double largest = 0;
  for (const TensorView* view : {&args.routed, &args.shared}) {
    if (view->data == nullptr) continue;
    for_each_index(view->shape, [&](const Index& index) { largest = std::max(largest, std::abs(load(*view, index))); });
  }
  return {.absolute = (static_cast<double>(args.weights.shape[1]) + 8) * 0x1p-24 * 2 * largest, .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::combine
