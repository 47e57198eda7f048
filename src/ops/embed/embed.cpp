// Picks a candidate and calls it.
#include "ops/embed/embed.hpp"

#include <fmt/format.h>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::embed {
namespace {

std::int64_t bytes(const Args& args) {
  return args.y.shape.elements() * (bits_of(args.table.dtype) + bits_of(args.y.dtype)) / 8;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"embed", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} hidden={} table={} y={}", row_bucket(args.y.shape[0]), args.y.shape[1],
                      name_of(args.table.dtype), name_of(args.y.dtype))};
}

// Nothing is computed: only a narrower y rounds.
Tolerance tolerance(const Args& args) {
  const bool exact = args.y.dtype == args.table.dtype || args.y.dtype == DType::F32;
  return {.relative = exact ? 0 : rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::embed
