// The embed reference against rows picked by hand, and what a token outside the table gives.
#include <gtest/gtest.h>

#include <array>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/embed/embed.hpp"

namespace redline::ops::embed {
namespace {

TEST(EmbedReference, PicksRowsAndWidens) {
  std::array<std::uint16_t, 6> table{to_bf16(1),  to_bf16(2),    to_bf16(3),
                                     to_bf16(-4), to_bf16(0.5f), to_bf16(-0.25f)};
  std::array<std::int32_t, 3> tokens{2, 0, 2};
  std::array<float, 6> y{};
  reference({.tokens = dense_view(tokens.data(), DType::I32, {3}),
             .table = dense_view(table.data(), DType::BF16, {3, 2}),
             .y = dense_view(y.data(), DType::F32, {3, 2})});
  EXPECT_EQ(y, (std::array<float, 6>{0.5f, -0.25f, 1, 2, 0.5f, -0.25f}));
}

TEST(Embed, TokenOutsideTheTableIsAnError) {
  std::array<float, 4> table{}, y{};
  CpuDevice device(1);
  Arena scratch(device, 4096, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  for (const std::int32_t bad : {-1, 2}) {
    std::array<std::int32_t, 2> tokens{0, bad};
    const Args args{.tokens = dense_view(tokens.data(), DType::I32, {2}),
                    .table = dense_view(table.data(), DType::F32, {2, 2}),
                    .y = dense_view(y.data(), DType::F32, {2, 2})};
    EXPECT_THROW(run(exec, args), Error);
    EXPECT_THROW(reference(args), Error);
  }
}

}  // namespace
}  // namespace redline::ops::embed
