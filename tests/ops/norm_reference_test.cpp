// The norm reference against numbers worked out with numpy:
//   x = array([1.5, -2, .5, 3]); w = array([.25, -.5, 0, 1]); n = x / sqrt((x**2).mean() + 1e-6)
//   n * (1 + w);  n * w;  with r = array([.5, 1, -1.5, -1]): s = x + r; s / sqrt((s**2).mean() + .5) * (1 +
//   w) with g = array([0, 1, -2, 20]): n * w * (g / (1 + exp(-g)))
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "ops/norm/norm.hpp"

namespace redline::ops::norm {
namespace {

using Four = std::array<float, 4>;

TensorView view(Four& values) { return dense_view(values.data(), DType::F32, {1, 1, 4}); }

void expect_near(const Four& found, const std::array<double, 4>& expected) {
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], expected[i], 4e-7 * std::abs(expected[i])) << i;
}

struct Inputs {
  Four x{1.5f, -2, 0.5f, 3}, weight{0.25f, -0.5f, 0, 1}, y{};
  Args args() { return {.x = view(x), .weight = dense_view(weight.data(), DType::F32, {4}), .y = view(y)}; }
};

TEST(NormReference, ZeroCentred) {
  Inputs in;
  reference(in.args());
  expect_near(in.y, {0.9525008295981037, -0.508000442452322, 0.254000221226161, 3.048002654713932});
}

TEST(NormReference, Plain) {
  Inputs in;
  Args args = in.args();
  args.zero_centred = false;
  reference(args);
  expect_near(in.y, {0.19050016591962074, 0.508000442452322, 0.0, 1.524001327356966});
}

TEST(NormReference, ResidualAndEpsilon) {
  Inputs in;
  Four residual{0.5f, 1, -1.5f, -1};
  Args args = in.args();
  args.residual = view(residual);
  args.epsilon = 0.5f;
  reference(args);
  EXPECT_EQ(residual, (Four{2, -1, -1, 2}));
  expect_near(in.y, {1.4433756729740645, -0.2886751345948129, -0.5773502691896258, 2.3094010767585034});
}

TEST(NormReference, Gated) {
  Inputs in;
  Four gate{0, 1, -2, 20};
  Args args = in.args();
  args.zero_centred = false;
  args.gate = view(gate);
  reference(args);
  expect_near(in.y, {0.0, 0.37137808140260814, 0.0, 30.4800264843153});
}

// Each group has a norm of its own: a row of two groups, one of them scaled, gives the same for both but for
// epsilon.
TEST(NormReference, GroupsAreNormedAlone) {
  std::array<float, 4> x{3, -4, 300, -400}, weight{0, 0, 0, 0}, y{};
  reference({.x = dense_view(x.data(), DType::F32, {1, 2, 2}),
             .weight = dense_view(weight.data(), DType::F32, {2}),
             .y = dense_view(y.data(), DType::F32, {1, 2, 2})});
  const double root = std::sqrt(12.5);
  EXPECT_NEAR(y[0], 3 / root, 1e-6);
  EXPECT_NEAR(y[1], -4 / root, 1e-6);
  EXPECT_NEAR(y[2], 3 / root, 1e-6);
  EXPECT_NEAR(y[3], -4 / root, 1e-6);
}

}  // namespace
}  // namespace redline::ops::norm
