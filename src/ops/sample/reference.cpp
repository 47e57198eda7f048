// Sorts everything, step by step as the contract says it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/philox.hpp"
#include "ops/elements.hpp"
#include "ops/sample/sample.hpp"

namespace redline::ops::sample {
namespace {

double penalised(const Args& args, std::int64_t row, std::int64_t id) {
  double logit = load(args.logits, {row, id});
  if (std::isnan(logit)) return -std::numeric_limits<double>::infinity();
  if (args.counts.data == nullptr) return logit;
  const double count = load(args.counts, {row, id});
  if (count <= 0) return logit;
  const double repetition = load(args.repetition, {row});
  logit = logit > 0 ? logit / repetition : logit * repetition;
  return logit - load(args.frequency, {row}) * count - load(args.presence, {row});
}

std::int64_t choose(const Args& args, std::int64_t row) {
  struct Token {
    std::int64_t id;
    double logit, probability;
  };
  std::vector<Token> tokens;
  for (std::int64_t id = 0; id < args.vocabulary; ++id) tokens.push_back({id, penalised(args, row, id), 0});
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token& a, const Token& b) { return a.logit > b.logit; });
  const double best = tokens.front().logit;
  const double temperature = load(args.temperature, {row});
  if (!std::isfinite(best)) return 0;
  if (temperature == 0) return tokens.front().id;
  for (Token& token : tokens) token.probability = std::exp((token.logit - best) / temperature);

  const auto top_k = static_cast<std::size_t>(load_int(args.top_k, row));
  if (top_k > 0 && top_k < tokens.size()) tokens.resize(top_k);
  const auto total = [&] {
    return std::accumulate(tokens.begin(), tokens.end(), 0.0,
                           [](double sum, const Token& token) { return sum + token.probability; });
  };
  if (const double top_p = load(args.top_p, {row}); top_p < 1) {
    const double wanted = top_p * total();
    double sum = 0;
    std::size_t kept = 0;
    while (kept < tokens.size() && (kept == 0 || sum < wanted)) sum += tokens[kept++].probability;
    tokens.resize(kept);
  }
  const double min_p = load(args.min_p, {row});
  std::erase_if(tokens, [&](const Token& token) { return token.probability < min_p; });

  std::sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.id < b.id; });
  const auto seed = static_cast<const std::uint64_t*>(args.seed.data)[row];
  const double wanted =
      uniform_float(seed, static_cast<std::uint64_t>(load_int(args.position, row)), 0) * total();
  double sum = 0;
  for (const Token& token : tokens) {
    sum += token.probability;
    if (sum > wanted) return token.id;
  }
  return tokens.back().id;
}

}  // namespace

void reference(const Args& args) {
  for (std::int64_t row = 0; row < args.logits.shape[0]; ++row)
    static_cast<std::int32_t*>(args.ids.data)[row] = static_cast<std::int32_t>(choose(args, row));
}

}  // namespace redline::ops::sample
