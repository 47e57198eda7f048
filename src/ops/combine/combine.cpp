// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/combine/combine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::combine {
namespace {

std::int64_t bytes(const Args& args) {
  const std::int64_t shared = args.shared.shape.dims > 0 ? args.shared.shape.elements() : 0;
  return ((args.routed.shape.elements() + shared) * bits_of(args.routed.dtype) +
          args.y.shape.elements() * bits_of(args.y.dtype)) /
         8;
}

double largest_of(const TensorView& view) {
  double largest = 0;
  for_each_index(view.shape,
                 [&](const Index& index) { largest = std::max(largest, std::abs(load(view, index))); });
  return largest;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"combine", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} choices={} width={} {}{}", row_bucket(args.y.shape[0]), args.weights.shape[1],
                      args.y.shape[1], name_of(args.routed.dtype),
                      args.shared.shape.dims > 0 ? " shared" : "")};
}

// `choices` products and sums in fp32: (choices + 2) · 2^-24 of Σ|w·x| at most. The sigmoid is off by 8 ·
// 2^-24 of itself. y is rounded once.
Tolerance tolerance(const Args& args) {
  double weights = 0;
  for (std::int64_t r = 0; r < args.weights.shape[0]; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < args.weights.shape[1]; ++c) sum += std::abs(load(args.weights, {r, c}));
    weights = std::max(weights, sum);
  }
  const double size =
      weights * largest_of(args.routed) + (args.shared.shape.dims > 0 ? largest_of(args.shared) : 0);
  return {.absolute = (static_cast<double>(args.weights.shape[1]) + 10) * 0x1p-24 * size,
          .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::combine
