// Scores, softmax and weighted sum of one head of one row at a time, as the formulas stand.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/elements.hpp"

namespace redline::ops::attention {

void reference(const Args& args) {
  const std::int64_t heads = args.query.shape[1], kv_heads = args.kv.shape[2], head_dim = args.query.shape[2],
                     page_tokens = args.kv.shape[3];
  for (std::int64_t s = 0; s + 1 < args.row_begin.shape[0]; ++s) {
    const std::int64_t begin = load_int(args.row_begin, s), end = load_int(args.row_begin, s + 1);
    const auto cached = [&](std::int64_t part, std::int64_t head, std::int64_t token, std::int64_t i) {
      const std::int64_t page = load_int(args.pages, load_int(args.page_begin, s) + token / page_tokens);
      return load(args.kv, {page, part, head, token % page_tokens, i});
    };
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t seen = load_int(args.kv_lengths, s) - (end - begin) + (row - begin) + 1;
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t kv_head = head / (heads / kv_heads);
        std::vector<double> weights;
        for (std::int64_t token = 0; token < seen; ++token) {
          double score = 0;
          for (std::int64_t i = 0; i < head_dim; ++i)
            score += load(args.query, {row, head, i}) * cached(0, kv_head, token, i);
          weights.push_back(score * args.scale);
        }
        const double most = *std::max_element(weights.begin(), weights.end());
        double total = 0;
        for (double& weight : weights) total += weight = std::exp(weight - most);
        for (std::int64_t i = 0; i < head_dim; ++i) {
          double sum = 0;
          for (std::int64_t token = 0; token < seen; ++token)
            sum += weights[static_cast<std::size_t>(token)] / total * cached(1, kv_head, token, i);
          if (args.query_gate.shape.dims != 0)
            sum /= 1 + std::exp(-load(args.query_gate, {row, head, head_dim + i}));
          store(args.y, {row, head, i}, sum);
        }
      }
    }
  }
}

}  // namespace redline::ops::attention
