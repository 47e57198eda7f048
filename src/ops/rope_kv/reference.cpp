// Norm, rotation and place in the cache, one head of one row at a time, as the formulas stand.
#include <cmath>
#include <vector>

#include "ops/elements.hpp"
#include "ops/rope_kv/rope_kv.hpp"

namespace redline::ops::rope_kv {
namespace {

// y = norm(x) · (1 + w), then the first `rotary` elements turned.
std::vector<double> normed_and_turned(const Args& args, const TensorView& x, const TensorView& weight,
                                      std::int64_t row, std::int64_t head) {
  const std::int64_t head_dim = args.query.shape[2], pairs = args.frequencies.shape[0];
  double squares = 0;
  for (std::int64_t i = 0; i < head_dim; ++i) squares += load(x, {row, head, i}) * load(x, {row, head, i});
  const double root = std::sqrt(squares / static_cast<double>(head_dim) + args.epsilon);
  std::vector<double> n, y;
  for (std::int64_t i = 0; i < head_dim; ++i)
    n.push_back(load(x, {row, head, i}) / root * (1 + load(weight, {i})));
  y = n;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double angle = static_cast<double>(load_int(args.positions, row)) * load(args.frequencies, {i});
    const double cosine = std::cos(angle) * args.rotation_scale, sine = std::sin(angle) * args.rotation_scale;
    const auto low = static_cast<std::size_t>(i), high = static_cast<std::size_t>(i + pairs);
    y[low] = n[low] * cosine - n[high] * sine;
    y[high] = n[high] * cosine + n[low] * sine;
  }
  return y;
}

}  // namespace

void reference(const Args& args) {
  const std::int64_t head_dim = args.query.shape[2], page_tokens = args.kv.shape[3];
  for (std::int64_t s = 0; s + 1 < args.row_begin.shape[0]; ++s) {
    const std::int64_t begin = load_int(args.row_begin, s), end = load_int(args.row_begin, s + 1);
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t head = 0; head < args.query.shape[1]; ++head) {
        const std::vector<double> y = normed_and_turned(args, args.query_gate, args.query_norm, row, head);
        for (std::int64_t i = 0; i < head_dim; ++i)
          store(args.query, {row, head, i}, y[static_cast<std::size_t>(i)]);
      }
      const std::int64_t token = load_int(args.kv_lengths, s) - (end - row);
      const std::int64_t page = load_int(args.pages, load_int(args.page_begin, s) + token / page_tokens);
      for (std::int64_t head = 0; head < args.key.shape[1]; ++head) {
        const std::vector<double> k = normed_and_turned(args, args.key, args.key_norm, row, head);
        for (std::int64_t i = 0; i < head_dim; ++i) {
          store(args.kv, {page, 0, head, token % page_tokens, i}, k[static_cast<std::size_t>(i)]);
          store(args.kv, {page, 1, head, token % page_tokens, i}, load(args.value, {row, head, i}));
        }
      }
    }
  }
}

}  // namespace redline::ops::rope_kv
