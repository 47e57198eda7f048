// Sampling against distributions worked out by hand, and what odd rows give.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ops/sample/sample.hpp"

namespace redline::ops::sample {
namespace {

class Rows {
 public:
  // `rows` copies of the same logits with their own positions.
  Rows(std::vector<float> logits, std::int64_t rows, float temperature, std::int32_t top_k = 0,
       float top_p = 1, float min_p = 0)
      : vocabulary_(static_cast<std::int64_t>(logits.size())), rows_(rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      logits_.insert(logits_.end(), logits.begin(), logits.end());
      positions_.push_back(static_cast<std::int32_t>(r));
    }
    const auto n = static_cast<std::size_t>(rows);
    temperature_.assign(n, temperature);
    top_p_.assign(n, top_p);
    min_p_.assign(n, min_p);
    top_k_.assign(n, top_k);
    seeds_.assign(n, 12345);
    ids_.assign(n, -1);
  }

  Args args() {
    const auto column = [&](auto& values, DType dtype) { return dense_view(values.data(), dtype, {rows_}); };
    Args args{.logits = dense_view(logits_.data(), DType::F32, {rows_, vocabulary_}),
              .vocabulary = static_cast<int>(vocabulary_),
              .temperature = column(temperature_, DType::F32),
              .top_k = column(top_k_, DType::I32),
              .top_p = column(top_p_, DType::F32),
              .min_p = column(min_p_, DType::F32),
              .seed = column(seeds_, DType::I64),
              .position = column(positions_, DType::I32),
              .ids = column(ids_, DType::I32)};
    if (!counts_.empty()) {
      args.counts = dense_view(counts_.data(), DType::I32, {rows_, vocabulary_});
      args.presence = column(presence_, DType::F32);
      args.frequency = column(frequency_, DType::F32);
      args.repetition = column(repetition_, DType::F32);
    }
    return args;
  }

  void penalise(std::vector<std::int32_t> counts, float presence, float frequency, float repetition) {
    for (std::int64_t r = 0; r < rows_; ++r) counts_.insert(counts_.end(), counts.begin(), counts.end());
    const auto n = static_cast<std::size_t>(rows_);
    presence_.assign(n, presence);
    frequency_.assign(n, frequency);
    repetition_.assign(n, repetition);
  }

  std::vector<double> shares() {
    reference(args());
    std::vector<double> share(static_cast<std::size_t>(vocabulary_));
    for (const std::int32_t id : ids_) share[static_cast<std::size_t>(id)] += 1 / static_cast<double>(rows_);
    return share;
  }

 private:
  std::int64_t vocabulary_, rows_;
  std::vector<float> logits_, temperature_, top_p_, min_p_, presence_, frequency_, repetition_;
  std::vector<std::int32_t> top_k_, positions_, ids_, counts_;
  std::vector<std::uint64_t> seeds_;
};

constexpr std::int64_t kDraws = 20000;

// Five standard deviations of a share of kDraws draws.
void expect_shares(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 5 * std::sqrt(expected[i] * (1 - expected[i]) / kDraws) + 1e-12)
        << "id " << i;
  }
}

const std::vector<float> kLogits{std::log(1.0f), std::log(4.0f), std::log(2.0f),
                                 std::log(3.0f)};  // 0.1, 0.4, 0.2, 0.3

TEST(SampleReference, DrawsFromTheDistribution) {
  expect_shares(Rows(kLogits, kDraws, 1).shares(), {0.1, 0.4, 0.2, 0.3});
}
TEST(SampleReference, Temperature) {
  expect_shares(Rows(kLogits, kDraws, 0.5f).shares(), {1 / 30.0, 16 / 30.0, 4 / 30.0, 9 / 30.0});
}
TEST(SampleReference, TopK) { expect_shares(Rows(kLogits, kDraws, 1, 2).shares(), {0, 4 / 7.0, 0, 3 / 7.0}); }
TEST(SampleReference, TopP) {
  expect_shares(Rows(kLogits, kDraws, 1, 0, 0.75f).shares(), {0, 4 / 9.0, 2 / 9.0, 3 / 9.0});
  expect_shares(Rows(kLogits, kDraws, 1, 0, 0.65f).shares(), {0, 4 / 7.0, 0, 3 / 7.0});
  expect_shares(Rows(kLogits, kDraws, 1, 0, 0).shares(), {0, 1, 0, 0});
}
TEST(SampleReference, TopPIsOfWhatTopKLeaves) {
  expect_shares(Rows(kLogits, kDraws, 1, 2, 0.5f).shares(), {0, 1, 0, 0});
}
TEST(SampleReference, MinP) {
  expect_shares(Rows(kLogits, kDraws, 1, 0, 1, 0.6f).shares(), {0, 4 / 7.0, 0, 3 / 7.0});
}
TEST(SampleReference, Greedy) {
  expect_shares(Rows(kLogits, 3, 0).shares(), {0, 1, 0, 0});
  expect_shares(Rows({2, 7, 7, 1}, 3, 0).shares(), {0, 1, 0, 0});
}
TEST(SampleReference, Penalties) {
  Rows rows({2, 2.5f, -1, -1}, 1, 0);
  rows.penalise({0, 1, 0, 0}, 0.4f, 0.2f, 1);  // 2.5 - 0.4 - 0.2 < 2
  expect_shares(rows.shares(), {1, 0, 0, 0});
  Rows divided({2, 2.5f, -1, -1}, 1, 0);
  divided.penalise({0, 3, 0, 0}, 0, 0, 1.3f);  // 2.5 / 1.3 < 2
  expect_shares(divided.shares(), {1, 0, 0, 0});
  Rows multiplied({-2, -1.5f, -9, -9}, 1, 0);
  multiplied.penalise({0, 1, 0, 0}, 0, 0, 1.4f);  // -1.5 · 1.4 < -2
  expect_shares(multiplied.shares(), {1, 0, 0, 0});
}
TEST(SampleReference, OddRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  expect_shares(Rows({nan, 1, nan, 0}, 3, 0).shares(), {0, 1, 0, 0});
  expect_shares(Rows({nan, nan}, 3, 1).shares(), {1, 0});
  expect_shares(Rows({-infinity, -infinity}, 3, 1, 1, 0.5f).shares(), {1, 0});
  expect_shares(Rows({-infinity, 3}, 3, 1).shares(), {0, 1});
}

}  // namespace
}  // namespace redline::ops::sample
