// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/rope_kv/rope_kv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::rope_kv {
namespace {

// Largest magnitude of a normed head, over all rows and heads.
double largest_normed(const TensorView& x, const TensorView& weight, std::int64_t head_dim, double epsilon) {
  double most = 0;
  for (std::int64_t r = 0; r < x.shape[0]; ++r) {
    for (std::int64_t h = 0; h < x.shape[1]; ++h) {
      double squares = 0;
      for (std::int64_t i = 0; i < head_dim; ++i) squares += std::pow(load(x, {r, h, i}), 2);
      const double factor = 1 / std::sqrt(squares / static_cast<double>(head_dim) + epsilon);
      for (std::int64_t i = 0; i < head_dim; ++i)
        most = std::max(most, std::abs(load(x, {r, h, i}) * factor * (1 + load(weight, {i}))));
    }
  }
  return most;
}

std::int64_t bytes(const Args& args) {
  const std::int64_t rows = args.query.shape[0], head_dim = args.query.shape[2];
  const std::int64_t read = args.query.shape[1] + 2 * args.key.shape[1], written = read;
  return rows * head_dim * (read + written) * bits_of(args.query.dtype) / 8;
}

}  // namespace

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"rope_kv", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} heads={} kv_heads={} head_dim={} rotary={} page={}",
                      row_bucket(args.query.shape[0]), args.query.shape[1], args.kv.shape[2],
                      args.query.shape[2], 2 * args.frequencies.shape[0], args.kv.shape[3])};
}

// The mean of squares in fp32 is off by at most head_dim · 2^-24 of itself, its root by half of that; the
// norm has a few more roundings. An angle that is a product in fp32 is off by 2^-24 of itself, and so are
// cosine and sine, in absolute terms, besides their own 2^-23. A rotation adds two such products.
Tolerance tolerance(const Args& args) {
  const std::int64_t head_dim = args.query.shape[2];
  const double most = std::max(largest_normed(args.query_gate, args.query_norm, head_dim, args.epsilon),
                               largest_normed(args.key, args.key_norm, head_dim, args.epsilon));
  double angle = 0, position = 0;
  for (std::int64_t r = 0; r < args.positions.shape[0]; ++r)
    position = std::max(position, std::abs(static_cast<double>(load_int(args.positions, r))));
  for (std::int64_t i = 0; i < args.frequencies.shape[0]; ++i)
    angle = std::max(angle, position * std::abs(load(args.frequencies, {i})));
  const double scale = std::max(1.0, std::abs(static_cast<double>(args.rotation_scale)));
  return {.absolute = 2 * scale * most * (static_cast<double>(head_dim) / 2 + angle + 8) * 0x1p-24,
          .relative = rounding_of(args.query.dtype)};
}

}  // namespace redline::ops::rope_kv
