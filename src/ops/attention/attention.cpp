// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/attention/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::attention {
namespace {

// Largest length of a query vector.
double longest_query(const TensorView& query) {
  double most = 0;
  for (std::int64_t r = 0; r < query.shape[0]; ++r) {
    for (std::int64_t h = 0; h < query.shape[1]; ++h) {
      double squares = 0;
      for (std::int64_t i = 0; i < query.shape[2]; ++i) squares += std::pow(load(query, {r, h, i}), 2);
      most = std::max(most, std::sqrt(squares));
    }
  }
  return most;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"attention", candidates(), reference}, args);
}

ProblemKey key(const Args& args) {
  const std::int64_t sequences = args.row_begin.shape[0] - 1;
  return {fmt::format("rows={} sequences={} heads={} kv_heads={} head_dim={} page={} gate={} pages={}",
                      row_bucket(args.query.shape[0]), row_bucket(sequences), args.query.shape[1],
                      args.kv.shape[2], args.query.shape[2], args.kv.shape[3],
                      args.query_gate.shape.dims == 0 ? 0 : 1, row_bucket(args.pages.shape[0]))};
}

// A score in fp32 is off by at most e = (head_dim + 2) · 2^-24 · scale · ‖q‖ · ‖k‖. That changes every weight
// by a factor within exp(±2e), the exponentials and the two sums over up to T tokens add (T + 16) · 2^-24,
// and weights add up to one, so that y is off by at most that much of the largest |v|. The gate is at most
// one; y is rounded once.
Tolerance tolerance(const Args& args) {
  double longest_key = 0, largest_value = 0, tokens = 0;
  for (std::int64_t s = 0; s + 1 < args.row_begin.shape[0]; ++s) {
    const std::int32_t length = load_int(args.kv_lengths, s);
    tokens = std::max(tokens, static_cast<double>(length));
    for (std::int32_t t = 0; t < length; ++t) {
      const std::int64_t page = load_int(args.pages, load_int(args.page_begin, s) + t / args.kv.shape[3]);
      for (std::int64_t h = 0; h < args.kv.shape[2]; ++h) {
        double squares = 0;
        for (std::int64_t i = 0; i < args.kv.shape[4]; ++i) {
          squares += std::pow(load(args.kv, {page, 0, h, t % args.kv.shape[3], i}), 2);
          largest_value =
              std::max(largest_value, std::abs(load(args.kv, {page, 1, h, t % args.kv.shape[3], i})));
        }
        longest_key = std::max(longest_key, std::sqrt(squares));
      }
    }
  }
  const double score = (static_cast<double>(args.query.shape[2]) + 2) * 0x1p-24 * args.scale *
                       longest_query(args.query) * longest_key;
  return {.absolute = largest_value * (2 * score + (tokens + 16) * 0x1p-24),
          .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::attention
