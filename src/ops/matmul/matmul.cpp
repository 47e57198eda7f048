// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/matmul/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::matmul {

std::int64_t bytes(const Args& args) {
  return bytes_of(*args.weight) +
         (args.x.shape.elements() * bits_of(args.x.dtype) + args.y.shape.elements() * bits_of(args.y.dtype)) /
             8;
}

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"matmul", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} in={} out={} weight={}", row_bucket(args.x.shape[0]), args.weight->in,
                      args.weight->out, quant::name_of(quant::format_of(args.weight->scheme)))};
}

// A sum of `in` products in fp32, in whatever order, is off by at most in · 2^-24 · Σ|x·w| <= in · 2^-24 ·
// ‖x‖ · ‖w‖. Scales add a few roundings, each of relative size 2^-24; y is rounded once.
Tolerance tolerance(const Args& args) {
  double x_norm = 0, w_norm = 0;
  for (std::int64_t r = 0; r < args.x.shape[0]; ++r) {
    double sum = 0;
    for (std::int64_t k = 0; k < args.weight->in; ++k) sum += std::pow(load(args.x, {r, k}), 2);
    x_norm = std::max(x_norm, std::sqrt(sum));
  }
  for (std::int64_t n = 0; n < args.weight->out; ++n) {
    double sum = 0;
    for (std::int64_t k = 0; k < args.weight->in; ++k) sum += std::pow(element(*args.weight, 0, n, k), 2);
    w_norm = std::max(w_norm, std::sqrt(sum));
  }
  return {.absolute = (static_cast<double>(args.weight->in) + 4) * 0x1p-24 * x_norm * w_norm,
          .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::matmul
