// The copy reference by hand, and slots that do not exist.
#include <gtest/gtest.h>

#include <array>

#include "core/error.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/copy/copy.hpp"

namespace redline::ops::copy {
namespace {

TEST(CopyReference, ByHand) {
  std::array<std::uint8_t, 6> from{1, 2, 3, 4, 5, 6}, to{9, 9, 9, 9, 9, 9};
  std::array<std::int32_t, 2> from_index{2, 0}, to_index{0, 2};
  reference({.from = dense_view(from.data(), DType::U8, {3, 2}),
             .to = dense_view(to.data(), DType::U8, {3, 2}),
             .from_index = dense_view(from_index.data(), DType::I32, {2}),
             .to_index = dense_view(to_index.data(), DType::I32, {2})});
  EXPECT_EQ(to, (std::array<std::uint8_t, 6>{5, 6, 9, 9, 1, 2}));
}

TEST(Copy, SlotThatDoesNotExistIsAnError) {
  CpuDevice device(1);
  Arena scratch(device, 4096, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  std::array<std::uint8_t, 4> slots{};
  for (const auto& [source, target] :
       {std::pair{-1, 0}, std::pair{2, 0}, std::pair{0, 2}, std::pair{0, -1}}) {
    std::array<std::int32_t, 1> from_index{source}, to_index{target};
    const Args args{.from = dense_view(slots.data(), DType::U8, {2, 2}),
                    .to = dense_view(slots.data(), DType::U8, {2, 2}),
                    .from_index = dense_view(from_index.data(), DType::I32, {1}),
                    .to_index = dense_view(to_index.data(), DType::I32, {1})};
    EXPECT_THROW(run(exec, args), Error);
    EXPECT_THROW(reference(args), Error);
  }
}

}  // namespace
}  // namespace redline::ops::copy
