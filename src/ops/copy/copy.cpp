// Picks a candidate and calls it.
#include "ops/copy/copy.hpp"

#include <fmt/format.h>

#include "ops/dispatch.hpp"

namespace redline::ops::copy {
namespace {

std::int64_t bytes(const Args& args) { return 2 * args.from_index.shape[0] * args.from.shape[1]; }

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"copy", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("count={} bytes={}", row_bucket(args.from_index.shape[0]), args.from.shape[1])};
}

Tolerance tolerance(const Args&) { return {}; }

}  // namespace redline::ops::copy
