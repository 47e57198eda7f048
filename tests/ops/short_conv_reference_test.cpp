// The reference of the short convolution against sums worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "ops/elements.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

// One channel, one sequence, everything in F32.
struct Channel {
  std::vector<float> weight{1, -2, 0.5f, 3};
  std::vector<float> slot = std::vector<float>(short_conv::slot_bytes(1, DType::F32) / sizeof(float), 0.0f);
  std::int32_t count = 0;

  std::vector<float> step(std::vector<float> u, std::int32_t into_ring) {
    std::vector<float> y(u.size(), NAN);
    std::int32_t slots[] = {0}, row_begin[] = {0, static_cast<std::int32_t>(u.size())};
    const auto rows = static_cast<std::int64_t>(u.size());
    short_conv::reference({.u = dense_view(u.data(), DType::F32, {rows, 1}),
                           .weight = dense_view(weight.data(), DType::F32, {1, 4}),
                           .state = dense_view(slot.data(), DType::U8,
                                               {1, static_cast<std::int64_t>(slot.size() * sizeof(float))}),
                           .ring = {.slots = dense_view(slots, DType::I32, {1}),
                                    .row_begin = dense_view(row_begin, DType::I32, {2}),
                                    .counts = dense_view(&count, DType::I32, {1}),
                                    .into_ring = dense_view(&into_ring, DType::I32, {1})},
                           .y = dense_view(y.data(), DType::F32, {rows, 1})});
    return y;
  }
};

TEST(ShortConvReference, FreshSlotHasZerosBeforeItsFirstRow) {
  Channel channel;
  const std::vector<float> y = channel.step({1, 2, -1, 4, 0}, 0);
  // 3·1; 3·2 + 0.5·1; 3·(-1) + 0.5·2 - 2·1; 3·4 + 0.5·(-1) - 2·2 + 1·1; 3·0 + 0.5·4 - 2·(-1) + 1·2
  const double sums[] = {3, 6.5, -4, 8.5, 6};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(y[i], static_cast<float>(silu(sums[i]))) << i;
  EXPECT_EQ(std::vector<float>(channel.slot.begin(), channel.slot.begin() + 3),
            (std::vector<float>{-1, 4, 0}));
}

TEST(ShortConvReference, RejectedRowsLeaveNoTrace) {
  Channel channel;
  channel.step({1, 2}, 0);
  EXPECT_FLOAT_EQ(channel.step({-1, 7, 7}, 1)[0], static_cast<float>(silu(-4)));
  channel.count = ring_count_after(channel.count, 3, 1);  // both sevens were wrong guesses
  EXPECT_EQ(channel.count, 1);
  EXPECT_FLOAT_EQ(channel.step({4}, 1)[0], static_cast<float>(silu(8.5)));
  channel.count = ring_count_after(channel.count, 1, 1);
  EXPECT_FLOAT_EQ(channel.step({0}, 0)[0], static_cast<float>(silu(6)));  // a prompt's row folds the ring
  EXPECT_EQ(std::vector<float>(channel.slot.begin(), channel.slot.begin() + 3),
            (std::vector<float>{-1, 4, 0}));
}

TEST(ShortConvReference, FullRingIsFoldedAndRowsGoOn) {
  Channel one_by_one, at_once;
  std::vector<float> u;
  for (int i = 0; i < 40; ++i) u.push_back(static_cast<float>((i * 7) % 5 - 2));
  const std::vector<float> expected = at_once.step(u, 0);
  for (std::size_t i = 0; i < u.size(); i += 2) {
    const std::vector<float> y = one_by_one.step({u[i], u[i + 1]}, 1);
    one_by_one.count = ring_count_after(one_by_one.count, 2, 2);
    EXPECT_EQ(y[0], expected[i]) << i;
    EXPECT_EQ(y[1], expected[i + 1]) << i;
  }
}

TEST(ShortConvReference, SlotHoldsThreeInputsAndARing) {
  EXPECT_EQ(short_conv::slot_bytes(6144, DType::BF16), 19u * 6144 * 2);
}

}  // namespace
}  // namespace redline::ops
