// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/route/route.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::route {
namespace {

std::int64_t bytes(const Args& args) {
  return args.logits.shape.elements() * bits_of(args.logits.dtype) / 8 + args.experts.shape.elements() * 8;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"route", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} experts={} choices={} {}", row_bucket(args.logits.shape[0]),
                      args.logits.shape[1], args.experts.shape[1], name_of(args.logits.dtype))};
}

// The choice compares logits as they are and is exact. A weight is e^(l - largest) over a sum of such: the
// difference is rounded once, which changes its power by |l - largest| · 2^-24 of itself, in numerator and
// sum; the powers themselves, `choices` additions and the quotient add the rest.
Tolerance tolerance(const Args& args) {
  double spread = 0;
  for (std::int64_t r = 0; r < args.logits.shape[0]; ++r) {
    double low = load(args.logits, {r, 0}), high = low;
    for (std::int64_t e = 1; e < args.logits.shape[1]; ++e) {
      low = std::min(low, load(args.logits, {r, e}));
      high = std::max(high, load(args.logits, {r, e}));
    }
    spread = std::max(spread, high - low);
  }
  return {.relative = (2 * spread + static_cast<double>(args.experts.shape[1]) + 10) * 0x1p-24};
}

}  // namespace redline::ops::route
