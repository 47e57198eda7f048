// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::gate {
namespace {

std::int64_t bytes(const Args& args) {
  return args.y.shape.elements() * (bits_of(args.a.dtype) + bits_of(args.b.dtype) + bits_of(args.y.dtype)) /
         8;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"gate", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} width={} {} a={} y={}", row_bucket(args.y.shape[0]), args.y.shape[1],
                      args.kind == Kind::SiluMul ? "silu" : "sigmoid", name_of(args.a.dtype),
                      name_of(args.y.dtype))};
}

// e^-a is off by a few 2^-24 of itself, and so is 1 / (1 + e^-a), whatever a: 4 for e^-a, 4 for sum, quotient
// and two products, y rounded once. Only e^-87 and less, times b, may be lost.
Tolerance tolerance(const Args& args) {
  double largest = 0;
  for_each_index(args.b.shape,
                 [&](const Index& index) { largest = std::max(largest, std::abs(load(args.b, index))); });
  return {.absolute = 0x1p-100 * largest, .relative = rounding_of(args.y.dtype) + 8 * 0x1p-24};
}

}  // namespace redline::ops::gate
