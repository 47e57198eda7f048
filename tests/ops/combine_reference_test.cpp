// The combine reference against sums done by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ops/combine/combine.hpp"

namespace redline::ops::combine {
namespace {

TEST(CombineReference, ByHand) {
  std::array<float, 8> routed{1, 2, 3, 4, 10, 20, 30, 40};  // rows (0, 0), (0, 1), (1, 0), (1, 1)
  std::array<float, 4> weights{0.25f, 0.75f, 0.5f, 2}, shared{100, -100, 8, 4}, y{};
  std::array<float, 2> gate{0, std::log(3.0f)};  // sigmoid: 1/2, 3/4
  Args args{.routed = dense_view(routed.data(), DType::F32, {4, 2}),
            .weights = dense_view(weights.data(), DType::F32, {2, 2}),
            .y = dense_view(y.data(), DType::F32, {2, 2})};
  reference(args);
  EXPECT_EQ(y, (std::array<float, 4>{2.5f, 3.5f, 65, 90}));
  args.shared = dense_view(shared.data(), DType::F32, {2, 2});
  args.shared_gate = dense_view(gate.data(), DType::F32, {2, 1});
  reference(args);
  EXPECT_EQ(y[0], 52.5f);
  EXPECT_EQ(y[1], -46.5f);
  EXPECT_NEAR(y[2], 71, 1e-5);
  EXPECT_NEAR(y[3], 93, 1e-5);
}

}  // namespace
}  // namespace redline::ops::combine
