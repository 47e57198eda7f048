// Expert choice and the sum of experts against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/combine/combine.hpp"
#include "ops/route/route.hpp"

namespace redline::ops {
namespace {

TEST(RouteReference, RenormalisesTheChosen) {
  // e^0 : e^ln3 : e^ln2 : e^ln2 = 1 : 3 : 2 : 2; of the two equal ones the lower id is chosen; 3 / 5 and 2 / 5.
  std::vector<float> logits{0, std::log(3.0f), std::log(2.0f), std::log(2.0f)};
  std::vector<std::int32_t> experts(2);
  std::vector<float> weights(2);
  route::reference({.logits = dense_view(logits.data(), DType::F32, {1, 4}),
                    .experts = dense_view(experts.data(), DType::I32, {1, 2}),
                    .weights = dense_view(weights.data(), DType::F32, {1, 2})});
  EXPECT_EQ(experts, (std::vector<std::int32_t>{1, 2}));
  EXPECT_NEAR(weights[0], 0.6, 1e-6);
  EXPECT_NEAR(weights[1], 0.4, 1e-6);
}

TEST(CombineReference, AddsTheGatedSharedExpert) {
  std::vector<float> routed{1, 10, 2, 20}, weights{0.25f, 0.75f}, shared{4, -4}, gate{0}, y(2);
  combine::Args args{.routed = dense_view(routed.data(), DType::F32, {2, 2}),
                     .weights = dense_view(weights.data(), DType::F32, {1, 2}),
                     .shared = dense_view(shared.data(), DType::F32, {1, 2}),
                     .shared_gate = dense_view(gate.data(), DType::F32, {1, 1}),
                     .y = dense_view(y.data(), DType::F32, {1, 2})};
  combine::reference(args);
  EXPECT_EQ(y, (std::vector<float>{1.75f + 2, 17.5f - 2}));
  gate[0] = std::log(3.0f);  // sigmoid 3 / 4
  combine::reference(args);
  EXPECT_NEAR(y[0], 1.75 + 3, 1e-6);
  args.shared = {};
  combine::reference(args);
  EXPECT_EQ(y, (std::vector<float>{1.75f, 17.5f}));
}

}  // namespace
}  // namespace redline::ops
