// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/grouped_matmul/grouped_matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::grouped_matmul {

// Each distinct expert is read once.
std::int64_t bytes(const Args& args) {
  std::set<std::int32_t> distinct;
  const auto* experts = static_cast<const std::int32_t*>(args.experts.data);
  distinct.insert(experts, experts + args.experts.shape.elements());
  return static_cast<std::int64_t>(distinct.size()) * bytes_per_matrix(*args.weight) +
         (args.x.shape.elements() * bits_of(args.x.dtype) + args.y.shape.elements() * bits_of(args.y.dtype)) /
             8;
}

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"grouped_matmul", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} choices={} experts={} in={} out={} weight={}",
                      row_bucket(args.experts.shape[0]), args.experts.shape[1], args.weight->matrices,
                      args.weight->in, args.weight->out,
                      quant::name_of(quant::format_of(args.weight->scheme)))};
}

// As matmul's: in · 2^-24 · ‖x‖ · ‖w‖ for an fp32 sum, and one rounding of y.
Tolerance tolerance(const Args& args) {
  double x_norm = 0, w_norm = 0;
  for (std::int64_t r = 0; r < args.x.shape[0]; ++r) {
    double sum = 0;
    for (std::int64_t k = 0; k < args.weight->in; ++k) sum += std::pow(load(args.x, {r, k}), 2);
    x_norm = std::max(x_norm, std::sqrt(sum));
  }
  for (std::int64_t e = 0; e < args.weight->matrices; ++e) {
    for (std::int64_t n = 0; n < args.weight->out; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < args.weight->in; ++k) sum += std::pow(element(*args.weight, e, n, k), 2);
      w_norm = std::max(w_norm, std::sqrt(sum));
    }
  }
  return {.absolute = (static_cast<double>(args.weight->in) + 4) * 0x1p-24 * x_norm * w_norm,
          .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::grouped_matmul
