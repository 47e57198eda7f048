// The recurrence as it stands, one row after another. What a ring holds is added to the state first, so that
// ring and state need no formulas of their own.
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "ops/delta/delta.hpp"
#include "ops/elements.hpp"

namespace redline::ops::delta {
namespace {

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

std::vector<double> normalised(const TensorView& qkv, std::int64_t row, std::int64_t first,
                               std::int64_t count, double scale) {
  std::vector<double> x;
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    x.push_back(load(qkv, {row, first + i}));
    squares += x.back() * x.back();
  }
  for (double& value : x) value = value / std::sqrt(squares + 1e-6) * scale;
  return x;
}

}  // namespace

void reference(const Args& args) {
  const std::int64_t key_heads = args.key_heads, value_heads = args.value_heads, key_dim = args.key_dim,
                     value_dim = args.value_dim;
  const SlotLayout layout = slot_layout(key_heads, value_heads, key_dim, value_dim);
  for (std::int64_t sequence = 0; sequence < args.ring.slots.shape[0]; ++sequence) {
    const std::int32_t slot = load_int(args.ring.slots, sequence), count = load_int(args.ring.counts, slot);
    const std::int64_t begin = load_int(args.ring.row_begin, sequence),
                       end = load_int(args.ring.row_begin, sequence + 1);
    const bool into_ring = load_int(args.ring.into_ring, sequence) != 0;
    ensure(!into_ring || end - begin <= kRingRows, "{} rows for a ring of {}", end - begin, kRingRows);
    const bool fold = !into_ring || count + end - begin > kRingRows;
    float* floats =
        reinterpret_cast<float*>(static_cast<std::byte*>(args.state.data) + slot * args.state.strides[0]);
    const auto part = [&](std::int64_t offset, const Shape& shape) {
      return dense_view(floats + offset, DType::F32, shape);
    };
    const TensorView state = part(layout.state, {value_heads, key_dim, value_dim}),
                     keys = part(layout.keys, {kRingRows, key_heads, key_dim});
    const TensorView corrections = part(layout.corrections, {kRingRows, value_heads, value_dim}),
                     decays = part(layout.decays, {kRingRows, value_heads});
    const std::vector<float> old_keys(floats + layout.keys,
                                      floats + layout.corrections);  // heads that share a key all need them

    for (std::int64_t head = 0; head < value_heads; ++head) {
      const std::int64_t key_head = head / (value_heads / key_heads);
      std::vector<std::vector<double>> s(static_cast<std::size_t>(key_dim),
                                         std::vector<double>(static_cast<std::size_t>(value_dim)));
      const double all = count > 0 ? load(decays, {count - 1, head}) : 0;
      for (std::size_t i = 0; i < s.size(); ++i) {
        for (std::size_t c = 0; c < s[i].size(); ++c) {
          const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(c);
          s[i][c] = std::exp(all) * load(state, {head, row, column});
          for (std::int64_t j = 0; j < count; ++j) {
            s[i][c] += std::exp(all - load(decays, {j, head})) *
                       static_cast<double>(
                           old_keys[static_cast<std::size_t>((j * key_heads + key_head) * key_dim + row)]) *
                       load(corrections, {j, head, column});
          }
        }
      }
      const auto write_state = [&] {
        for (std::size_t i = 0; i < s.size(); ++i) {
          for (std::size_t c = 0; c < s[i].size(); ++c)
            store(state, {head, static_cast<std::int64_t>(i), static_cast<std::int64_t>(c)}, s[i][c]);
        }
      };
      if (into_ring && fold) write_state();
      double sum = fold ? 0 : all;
      for (std::int64_t row = begin; row < end; ++row) {
        const std::vector<double> q = normalised(args.qkv, row, key_head * key_dim, key_dim,
                                                 1 / std::sqrt(static_cast<double>(key_dim)));
        const std::vector<double> k = normalised(args.qkv, row, (key_heads + key_head) * key_dim, key_dim, 1);
        const double beta = 1 / (1 + std::exp(-load(args.b, {row, head})));
        const double g = -std::exp(load(args.decay_log, {head})) *
                         softplus(load(args.a, {row, head}) + load(args.time_bias, {head}));
        sum += g;
        const std::int64_t place = (fold ? 0 : count) + row - begin;
        for (auto& line : s) {
          for (double& value : line) value *= std::exp(g);
        }
        for (std::size_t c = 0; c < static_cast<std::size_t>(value_dim); ++c) {
          const double v = load(
              args.qkv, {row, 2 * key_heads * key_dim + head * value_dim + static_cast<std::int64_t>(c)});
          double m = 0, o = 0;
          for (std::size_t i = 0; i < s.size(); ++i) m += s[i][c] * k[i];
          const double correction = beta * (v - m);
          for (std::size_t i = 0; i < s.size(); ++i) s[i][c] += k[i] * correction;
          for (std::size_t i = 0; i < s.size(); ++i) o += s[i][c] * q[i];
          store(args.y, {row, head, static_cast<std::int64_t>(c)}, o);
          if (into_ring) store(corrections, {place, head, static_cast<std::int64_t>(c)}, correction);
        }
        if (!into_ring) continue;
        store(decays, {place, head}, sum);
        for (std::size_t i = 0; i < s.size(); ++i)
          store(keys, {place, key_head, static_cast<std::int64_t>(i)}, k[i]);
      }
      if (!into_ring) write_state();
    }
  }
}

}  // namespace redline::ops::delta
