// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/delta/delta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::delta {
namespace {

// A decode step reads the state; a prompt reads and writes it.
std::int64_t bytes(const Args& args) {
  const std::int64_t sequences = args.ring.slots.shape[0], rows = args.y.shape[0];
  const std::int64_t state = std::int64_t{4} * args.value_heads * args.key_dim * args.value_dim;
  const std::int64_t passes = rows > sequences * kRingRows ? 2 : 1;
  return sequences * passes * state +
         rows * (args.qkv.shape[1] + args.value_heads * args.value_dim) * bits_of(args.qkv.dtype) / 8;
}

// Bounds of one value head while its rows pass: lengths of columns of S and of what is added to it, and by
// how much the column may be off.
struct Bound {
  double state = 0, added = 0, error = 0, worst = 0;
};

}  // namespace

std::size_t slot_bytes(int key_heads, int value_heads, int key_dim, int value_dim) {
  return static_cast<std::size_t>(slot_layout(key_heads, value_heads, key_dim, value_dim).end) *
         sizeof(float);
}

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"delta", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} sequences={} key_heads={} value_heads={} key_dim={} value_dim={}",
                      row_bucket(args.y.shape[0]), row_bucket(args.ring.slots.shape[0]), args.key_heads,
                      args.value_heads, args.key_dim, args.value_dim)};
}

// In exact arithmetic a column s of S becomes e^g (I - beta k k^T) s + beta v k, and with |k| <= 1, beta < 1
// and g <= 0 no error that it has grows:
//   |s| <= e^g |s| + beta |v|,   |u| <= beta (|v| + e^g |s|),   w = sum of e^(G_t - G_j) |u_j| <= e^g w + |u|
//   (the corrections that chunks and rings add up).
// A row's own roundings are those of dot products of key_dim terms and of sums over at most 64 corrections,
// of k's own norm, and of decays, whose exponents in fp32 are off by 2^-24 of the sum of |g| since the chunk
// or ring began: (1.5 key_dim + 64 + 2 G + 32) · 2^-24 · (|s| + w + |v|) in all. Outputs are products with
// |q| <= key_dim^-0.5 < 1 and share the bound; G itself is kept to a few units of its last place.
Tolerance tolerance(const Args& args) {
  const SlotLayout layout = slot_layout(args.key_heads, args.value_heads, args.key_dim, args.value_dim);
  double worst = 0;
  for (std::int64_t s = 0; s < args.ring.slots.shape[0]; ++s) {
    const std::int32_t slot = load_int(args.ring.slots, s), count = load_int(args.ring.counts, slot);
    const std::int64_t begin = load_int(args.ring.row_begin, s), end = load_int(args.ring.row_begin, s + 1);
    const auto* floats = reinterpret_cast<const float*>(static_cast<const std::byte*>(args.state.data) +
                                                        slot * args.state.strides[0]);
    for (std::int64_t h = 0; h < args.value_heads; ++h) {
      Bound bound;
      for (std::int64_t c = 0; c < args.value_dim; ++c) {
        double squares = 0;
        for (std::int64_t i = 0; i < args.key_dim; ++i)
          squares += std::pow(floats[(h * args.key_dim + i) * args.value_dim + c], 2);
        bound.state = std::max(bound.state, std::sqrt(squares));
      }
      std::deque<double> recent;  // |g| of the rows that one chunk or ring can reach
      const auto pass = [&](double g, double state_added, double correction, double value) {
        recent.push_back(-g);
        if (recent.size() > 64 + kRingRows) recent.pop_front();
        const double decays = std::accumulate(recent.begin(), recent.end(), 0.0);
        const double e = std::exp(g);
        const double own =
            (1.5 * args.key_dim + 64 + 2 * decays + 32) * 0x1p-24 * (bound.state + bound.added + value);
        bound.added = e * bound.added + correction;
        bound.state = e * bound.state + state_added;
        bound.error = e * bound.error + own;
        bound.worst = std::max({bound.worst, bound.error, own, 16 * 0x1p-24 * decays});
      };
      double before = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        double u = 0;
        for (std::int64_t c = 0; c < args.value_dim; ++c) {
          u = std::max(u, std::abs(static_cast<double>(
                              floats[layout.corrections + (j * args.value_heads + h) * args.value_dim + c])));
        }
        const double sum = floats[layout.decays + j * args.value_heads + h];
        pass(sum - before, u, u, u);
        before = sum;
      }
      for (std::int64_t row = begin; row < end; ++row) {
        double v = 0;
        for (std::int64_t c = 0; c < args.value_dim; ++c) {
          v = std::max(
              v, std::abs(load(args.qkv, {row, 2 * args.key_heads * args.key_dim + h * args.value_dim + c})));
        }
        const double beta = 1 / (1 + std::exp(-load(args.b, {row, h})));
        const double g = -std::exp(load(args.decay_log, {h})) *
                         std::log1p(std::exp(load(args.a, {row, h}) + load(args.time_bias, {h})));
        pass(g, beta * v, beta * (v + std::exp(g) * bound.state), v);
      }
      worst = std::max(worst, bound.worst);
    }
  }
  return {.absolute = worst, .relative = rounding_of(args.y.dtype)};
}

}  // namespace redline::ops::delta
