// The reference of norm, rotation and cache write against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "ops/elements.hpp"
#include "ops/rope_kv/rope_kv.hpp"

namespace redline::ops {
namespace {

constexpr float kQuarterTurn = std::numbers::pi_v<float> / 2;

// Two rows of one query head and one KV head, 4 wide: tokens 4 and 5 of a sequence whose pages of 4 tokens
// are 3 and 1.
struct Rows {
  std::vector<float> frequencies{kQuarterTurn, 0};
  float rotation_scale = 1;
  std::vector<float> query_gate{1, 2, 2, 4, 90, 91, 92, 93, 2, 4, 1, 2, 94, 95, 96, 97};
  std::vector<float> key{4, 2, 2, 1, 1, 2, 2, 4}, value{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> query_norm{0, 1, 0, -0.5f}, key_norm{0, 0, 0, 1};
  std::vector<std::int32_t> positions{1, 2}, row_begin{0, 2}, lengths{6}, pages{3, 1}, page_begin{0, 2};
  std::vector<float> query = std::vector<float>(8, NAN);
  std::vector<float> kv = std::vector<float>(4 * 2 * 4 * 4, -1.0f);

  void run() {
    const auto floats = [](std::vector<float>& values, const Shape& shape) {
      return dense_view(values.data(), DType::F32, shape);
    };
    const auto ints = [](std::vector<std::int32_t>& values) {
      return dense_view(values.data(), DType::I32, {static_cast<std::int64_t>(values.size())});
    };
    rope_kv::reference({.query_gate = floats(query_gate, {2, 1, 8}),
                        .key = floats(key, {2, 1, 4}),
                        .value = floats(value, {2, 1, 4}),
                        .query_norm = floats(query_norm, {4}),
                        .key_norm = floats(key_norm, {4}),
                        .frequencies = floats(frequencies, {static_cast<std::int64_t>(frequencies.size())}),
                        .positions = ints(positions),
                        .row_begin = ints(row_begin),
                        .kv_lengths = ints(lengths),
                        .pages = ints(pages),
                        .page_begin = ints(page_begin),
                        .epsilon = 0,
                        .rotation_scale = rotation_scale,
                        .query = floats(query, {2, 1, 4}),
                        .kv = floats(kv, {4, 2, 1, 4, 4})});
  }
  std::vector<float> cached(int page, int part, int token) const {
    const auto* first = kv.data() + ((page * 2 + part) * 4 + token) * 4;
    return {first, first + 4};
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-6) << i;
}

// The root of the mean square of every head is 2.5, so row 0 normed is [0.4, 0.8, 0.8, 1.6] · [1, 2, 1, 0.5]
// and row 1 is [0.8, 1.6, 0.4, 0.8] · the same. Elements 0 and 2 are a pair: a quarter turn makes (x, y) into
// (-y, x), a half turn into (-x, -y). Elements 1 and 3 do not turn.
TEST(RopeKvReference, NormsThenTurnsHalvesThatArePaired) {
  Rows rows;
  rows.run();
  expect_near(rows.query, {-0.8f, 1.6f, 0.4f, 0.8f, -0.8f, 3.2f, -0.4f, 0.4f});
}

TEST(RopeKvReference, ElementsBehindTheRotaryOnesPassThrough) {
  Rows rows;
  rows.frequencies = {kQuarterTurn};  // elements 0 and 1
  rows.run();
  expect_near(rows.query, {-1.6f, 0.4f, 0.8f, 0.8f, -0.8f, -3.2f, 0.4f, 0.4f});
}

TEST(RopeKvReference, ScaleTouchesRotaryElementsOnly) {
  Rows rows;
  rows.frequencies = {kQuarterTurn};
  rows.rotation_scale = 1.5f;
  rows.run();
  expect_near(rows.query, {-2.4f, 0.6f, 0.8f, 0.8f, -1.2f, -4.8f, 0.4f, 0.4f});
}

TEST(RopeKvReference, KeysAndValuesGoToTheirPagesAndNothingElseIsTouched) {
  Rows rows;
  rows.run();
  // Keys normed: [1.6, 0.8, 0.8, 0.4] and [0.4, 0.8, 0.8, 1.6], times [1, 1, 1, 2], then turned.
  expect_near(rows.cached(1, 0, 0), {-0.8f, 0.8f, 1.6f, 0.8f});
  expect_near(rows.cached(1, 0, 1), {-0.4f, 0.8f, -0.8f, 3.2f});
  EXPECT_EQ(rows.cached(1, 1, 0), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(rows.cached(1, 1, 1), (std::vector<float>{5, 6, 7, 8}));
  int untouched = 0;
  for (const float value : rows.kv) untouched += value == -1 ? 1 : 0;
  EXPECT_EQ(untouched, 4 * 2 * 4 * 4 - 16);
}

}  // namespace
}  // namespace redline::ops
