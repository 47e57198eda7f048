// The gate reference against numbers worked out with numpy:
//   a = array([0, 1, -1, 10, -100.]); b = array([3, 2, -4, .5, 1]); a / (1 + exp(-a)) * b;  1 / (1 + exp(-a))
//   * b
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ops/gate/gate.hpp"

namespace redline::ops::gate {
namespace {

using Five = std::array<float, 5>;

void check(Kind kind, const std::array<double, 5>& expected) {
  Five a{0, 1, -1, 10, -100}, b{3, 2, -4, 0.5f, 1}, y{};
  const auto view = [](Five& values) { return dense_view(values.data(), DType::F32, {1, 5}); };
  reference({.kind = kind, .a = view(a), .b = view(b), .y = view(y)});
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(y[i], expected[i], 1e-7 * std::abs(expected[i]) + 1e-44) << i;
}

TEST(GateReference, Silu) {
  check(Kind::SiluMul,
        {0.0, 1.4621171572600098, 1.0757656854799804, 4.9997730106564875, -3.720075976020836e-42});
}
TEST(GateReference, Sigmoid) {
  check(Kind::SigmoidMul,
        {1.5, 1.4621171572600098, -1.0757656854799804, 0.4999773010656488, 3.7200759760208356e-44});
}

}  // namespace
}  // namespace redline::ops::gate
