// The route reference against numbers worked out with numpy:
//   l = array([.5, -1, 2, 2, 0, 1]); p = exp(l) / exp(l).sum(); p[[2, 3, 5]] / p[[2, 3, 5]].sum()
// and what NaN logits give: experts that exist, each once, because other operators index with them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "device/cpu/cpu_device.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route {
namespace {

TEST(RouteReference, LargestFirstTiesToTheLowerId) {
  std::array<float, 6> logits{0.5f, -1, 2, 2, 0, 1};
  std::array<std::int32_t, 3> experts{};
  std::array<float, 3> weights{};
  reference({.logits = dense_view(logits.data(), DType::F32, {1, 6}),
             .experts = dense_view(experts.data(), DType::I32, {1, 3}),
             .weights = dense_view(weights.data(), DType::F32, {1, 3})});
  EXPECT_EQ(experts, (std::array<std::int32_t, 3>{2, 3, 5}));
  EXPECT_NEAR(weights[0], 0.4223187982515182, 1e-7);
  EXPECT_NEAR(weights[1], 0.4223187982515182, 1e-7);
  EXPECT_NEAR(weights[2], 0.1553624034969636, 1e-7);
}

TEST(Route, NanLogitsAreTheLeast) {
  CpuDevice device(1);
  Arena scratch(device, 4096, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  std::array<float, 20> logits;
  std::array<std::int32_t, 4> experts{};
  std::array<float, 4> weights{};
  const Args args{.logits = dense_view(logits.data(), DType::F32, {1, 20}),
                  .experts = dense_view(experts.data(), DType::I32, {1, 4}),
                  .weights = dense_view(weights.data(), DType::F32, {1, 4})};
  for (const auto call :
       {+[](Exec& e, const Args& a) { run(e, a); }, +[](Exec&, const Args& a) { reference(a); }}) {
    logits.fill(NAN);
    call(exec, args);
    EXPECT_EQ(experts, (std::array<std::int32_t, 4>{0, 1, 2, 3}));
    logits[17] = -3;
    logits[5] = 1;
    call(exec, args);
    EXPECT_EQ(experts, (std::array<std::int32_t, 4>{5, 17, 0, 1}));
    EXPECT_FLOAT_EQ(weights[0], static_cast<float>(1 / (1 + std::exp(-4.0))));
    EXPECT_EQ(weights[2], 0);
  }
}

}  // namespace
}  // namespace redline::ops::route
