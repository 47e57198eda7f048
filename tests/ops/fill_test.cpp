// Synthetic weights: the same bytes for any number of threads, mean 0 and variance 1 / in with all scales,
// scales that are finite and positive.
#include "ops/fill/fill.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/numbers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/choice.hpp"

namespace redline::ops {
namespace {

struct Filled {
  std::vector<std::byte> elements, scales;
  PackedWeight weight;
};

Filled make(const quant::Scheme& scheme, int threads, std::uint64_t seed, std::int64_t rows,
            std::int64_t in) {
  Filled made;
  made.weight = {.scheme = scheme, .out = rows, .in = in};
  quant::Scheme without = scheme;
  without.tensor_scale = false;
  made.elements.resize(static_cast<std::size_t>(rows * in * bits_of(scheme.element) / 8));
  made.scales.resize(static_cast<std::size_t>(quant::bytes_of(without, rows, in)) - made.elements.size());
  made.weight.parts = {{.elements = made.elements.data(), .scales = made.scales.data(), .rows = rows}};
  CpuDevice device(threads);
  Arena scratch(device, 1 << 16, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  fill::weight(exec, made.weight, seed);
  return made;
}

TEST(Fill, SameBytesForAnyNumberOfThreads) {
  for (const quant::NamedScheme& one : quant::every_scheme()) {
    const Filled a = make(one.scheme, 1, 5, 131, 256), b = make(one.scheme, 3, 5, 131, 256),
                 c = make(one.scheme, 1, 6, 131, 256);
    EXPECT_EQ(a.elements, b.elements) << one.name;
    EXPECT_EQ(a.scales, b.scales) << one.name;
    EXPECT_NE(a.elements, c.elements) << one.name;
  }
}

TEST(Fill, MeanAndVariance) {
  constexpr std::int64_t kRows = 400, kIn = 512;
  constexpr double kCount = kRows * kIn;
  for (const quant::NamedScheme& one : quant::every_scheme()) {
    const Filled made = make(one.scheme, 2, 9, kRows, kIn);
    double sum = 0, squares = 0, largest = 0;
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t k = 0; k < kIn; ++k) {
        const double value = element(made.weight, 0, r, k);
        ASSERT_TRUE(std::isfinite(value)) << one.name;
        sum += value;
        squares += value * value;
        largest = std::max(largest, std::abs(value));
      }
    }
    const double deviation = 1 / std::sqrt(static_cast<double>(kIn));
    EXPECT_LT(std::abs(sum / kCount), 5 * deviation / std::sqrt(kCount)) << one.name;
    // Blocks share a scale: 3 200 independent scales at the least (128 x 128: 16, whose spread of 14 % leaves
    // 2 · 14 % / √16 of the variance).
    const double spread = one.scheme.block_rows == 128 ? 0.35 : 0.03;
    EXPECT_NEAR(squares / kCount * kIn, 1, spread) << one.name;
    EXPECT_GT(largest, 2 * deviation) << one.name;
  }
}

TEST(Fill, TensorsOfFloats) {
  CpuDevice device(2);
  Arena scratch(device, 1 << 16, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  std::vector<float> values(100001);
  fill::tensor(exec, dense_view(values.data(), DType::F32, {100001}), -3, 0.5, 1);
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += (value + 3) * (value + 3);
  }
  EXPECT_NEAR(sum / 100001, -3, 5 * 0.5 / std::sqrt(100001));
  EXPECT_NEAR(squares / 100001, 0.25, 0.01);
}

}  // namespace
}  // namespace redline::ops
