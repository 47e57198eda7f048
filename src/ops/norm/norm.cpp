// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/norm/norm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::norm {
namespace {

std::int64_t bytes(const Args& args) {
  std::int64_t bits = bits_of(args.x.dtype) + bits_of(args.y.dtype);
  if (args.residual.shape.dims > 0) bits += 2 * bits_of(args.residual.dtype);
  if (args.gate.shape.dims > 0) bits += bits_of(args.gate.dtype);
  return args.x.shape.elements() * bits / 8;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"norm", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} groups={} width={} {}{}{}", row_bucket(args.x.shape[0]), args.x.shape[1],
                      args.x.shape[2], name_of(args.y.dtype), args.residual.shape.dims > 0 ? " residual" : "",
                      args.gate.shape.dims > 0 ? " gate" : "")};
}

// All terms of the sum of squares are positive, so in fp32 it is off by at most (width + 2) · 2^-24 of
// itself, and its root by half of that. The root, the division, 1 + w, the sum with the residual, three
// products, and e^-gate with its sigmoid add at most 16 roundings. Outputs are rounded once. Only what a far
// negative gate lets through (e^-87) may be lost altogether.
Tolerance tolerance(const Args& args) {
  double rounding = rounding_of(args.y.dtype);
  if (args.residual.shape.dims > 0) rounding = std::max(rounding, rounding_of(args.residual.dtype));
  return {.absolute = args.gate.shape.dims > 0 ? 0x1p-100 : 0,
          .relative = rounding + (static_cast<double>(args.x.shape[2]) / 2 + 17) * 0x1p-24};
}

}  // namespace redline::ops::norm
