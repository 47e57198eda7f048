// Picks a candidate and calls it. Ids are compared exactly: cases are drawn so that no decision is closer
// than rounding.
#include "ops/sample/sample.hpp"

#include <fmt/format.h>

#include "ops/dispatch.hpp"

namespace redline::ops::sample {

namespace {
std::int64_t bytes(const Args& args) {
  return args.logits.shape[0] * args.vocabulary * bits_of(args.logits.dtype) / 8;
}
}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"sample", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} vocabulary={}{}", row_bucket(args.logits.shape[0]), args.vocabulary,
                      args.counts.data != nullptr ? " penalties" : "")};
}

Tolerance tolerance(const Args&) { return {}; }

}  // namespace redline::ops::sample
