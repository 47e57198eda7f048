// The reference of attention against weights worked out by hand: scores are chosen so that softmax gives
// simple fractions.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/elements.hpp"

namespace redline::ops {
namespace {

// One sequence of three tokens on pages 2 and 0 of two tokens each; two KV heads, two elements wide. Keys of
// head h are (0, 0), (ln 3, 0), (0, 7); values are (1 + 10 h, 2), (5 + 10 h, 6), (100, 100).
struct Cache {
  std::vector<float> kv = std::vector<float>(3 * 2 * 2 * 2 * 2, NAN);
  std::vector<std::int32_t> row_begin, lengths{3}, pages{2, 0}, page_begin{0, 2};

  Cache() {
    const float ln3 = std::log(3.0f);
    for (int h = 0; h < 2; ++h) {
      const float h10 = 10.0f * static_cast<float>(h);
      put(2, 0, h, 0, 0, 0);
      put(2, 0, h, 1, ln3, 0);
      put(0, 0, h, 0, 0, 7);
      put(2, 1, h, 0, 1 + h10, 2);
      put(2, 1, h, 1, 5 + h10, 6);
      put(0, 1, h, 0, 100, 100);
    }
  }
  void put(int page, int part, int head, int token, float a, float b) {
    const auto at = static_cast<std::size_t>((((page * 2 + part) * 2 + head) * 2 + token) * 2);
    kv[at] = a;
    kv[at + 1] = b;
  }
  std::vector<float> run(std::vector<float> query, std::int64_t rows, std::int64_t heads,
                         std::vector<float> gate, float scale) {
    row_begin = {0, static_cast<std::int32_t>(rows)};
    std::vector<float> y(static_cast<std::size_t>(rows * heads * 2), NAN);
    const auto ints = [](std::vector<std::int32_t>& values) {
      return dense_view(values.data(), DType::I32, {static_cast<std::int64_t>(values.size())});
    };
    attention::Args args{.query = dense_view(query.data(), DType::F32, {rows, heads, 2}),
                         .kv = dense_view(kv.data(), DType::F32, {3, 2, 2, 2, 2}),
                         .row_begin = ints(row_begin),
                         .kv_lengths = ints(lengths),
                         .pages = ints(pages),
                         .page_begin = ints(page_begin),
                         .scale = scale,
                         .y = dense_view(y.data(), DType::F32, {rows, heads, 2})};
    if (!gate.empty()) args.query_gate = dense_view(gate.data(), DType::F32, {rows, heads, 4});
    attention::reference(args);
    return y;
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(AttentionReference, RowsSeeThemselvesAndWhatCameBefore) {
  // Row 0 is the second of three tokens: scores 0 and ln 3, weights 1/4 and 3/4. Row 1 scores 0, 0 and
  // 7·ln(2)/7 = ln 2: weights 1/4, 1/4, 1/2.
  const float ln2 = std::log(2.0f);
  expect_near(Cache().run({1, 0, 1, 0, 0, ln2 / 7, 0, ln2 / 7}, 2, 2, {}, 1),
              {4, 5, 14, 5, 51.5f, 52, 56.5f, 52});
}

TEST(AttentionReference, ScaleMultipliesScores) {
  Cache cache;
  cache.lengths = {2};
  expect_near(cache.run({2, 0, 2, 0}, 1, 2, {}, 0.5f), {4, 5, 14, 5});
  expect_near(cache.run({-1, 0, -1, 0}, 1, 2, {}, 1), {2, 3, 12, 3});  // weights 3/4 and 1/4
}

TEST(AttentionReference, NeighbouringQueryHeadsShareAKvHead) {
  Cache cache;
  cache.lengths = {2};
  expect_near(cache.run({1, 0, 0, 0, 1, 0, 0, 0}, 1, 4, {}, 1), {4, 5, 3, 4, 14, 5, 13, 4});
}

TEST(AttentionReference, GateIsTheSecondHalfOfEachHeadThroughASigmoid) {
  Cache cache;
  cache.lengths = {2};
  const float ln3 = std::log(3.0f);  // sigmoid: 3/4; of its negative: 1/4
  expect_near(cache.run({1, 0, 1, 0}, 1, 2, {50, 50, 0, ln3, 50, 50, -ln3, 0}, 1), {2, 3.75f, 3.5f, 2.5f});
}

}  // namespace
}  // namespace redline::ops
