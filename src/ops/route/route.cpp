// Picks a candidate and calls it; how exact the weights must be. Which experts are chosen is compared exactly.
#include "ops/route/route.hpp"

#include <fmt/format.h>

#include "ops/dispatch.hpp"

namespace redline::ops::route {

void run(Exec& exec, const Args& args) { dispatch(exec, Operation<Args>{"route", candidates(), reference}, args); }

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} experts={} choices={}", row_bucket(args.logits.shape[0]), args.logits.shape[1], args.experts.shape[1])};
}

// A weight is e^(l - best) over a sum of as many such terms as experts are chosen: each exponential within a few units of 2^-24, the argument's own rounding
// |l - best| · 2^-24 (below 100 for any logit that matters), the sum within choices · 2^-24.
Tolerance tolerance(const Args& args) {
  return {.absolute = 1e-30, .relative = (100 + 8 + static_cast<double>(args.experts.shape[1])) * 0x1p-24};
}

}  // namespace redline::ops::route
