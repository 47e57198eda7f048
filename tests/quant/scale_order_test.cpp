// Tiled scales: offsets worked out by hand from the formula, and both directions over odd sizes.
#include "quant/scale_order.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.hpp"

namespace redline::quant {
namespace {

TEST(ScaleOrder, OffsetsWorkedByHand) {
  // groups = 8, so two tiles side by side; a tile is 512 bytes.
  static_assert(tiled_scale_offset(0, 0, 8) == 0);
  static_assert(tiled_scale_offset(0, 3, 8) == 3);
  static_assert(tiled_scale_offset(1, 0, 8) == 16);
  static_assert(tiled_scale_offset(31, 3, 8) == 31 * 16 + 3);  // 499
  static_assert(tiled_scale_offset(32, 0, 8) == 4);            // back to the top, four bytes along
  static_assert(tiled_scale_offset(96, 0, 8) == 12);
  static_assert(tiled_scale_offset(127, 3, 8) == 511);   // 496 + 12 + 3: the tile's last byte
  static_assert(tiled_scale_offset(0, 4, 8) == 512);     // the tile to the right
  static_assert(tiled_scale_offset(128, 0, 8) == 1024);  // past both tiles of the first 128 rows
  static_assert(tiled_scale_offset(200, 6, 8) ==
                1024 + 512 + 8 * 16 + 2 * 4 + 2);  // row 72 of its tile: 1674
  // groups = 5 is padded to 8: the same two tiles a row.
  static_assert(tiled_scale_offset(128, 0, 5) == 1024);
  static_assert(tiled_scale_offset(130, 4, 5) == 1024 + 512 + 32);
}

TEST(ScaleOrder, SizesArePadded) {
  static_assert(tiled_scale_bytes(128, 4) == 512);
  static_assert(tiled_scale_bytes(1, 1) == 512);
  static_assert(tiled_scale_bytes(129, 4) == 1024);
  static_assert(tiled_scale_bytes(128, 5) == 1024);
  static_assert(tiled_scale_bytes(5120, 1088) == 5120 * 1088);
  static_assert(tiled_scale_bytes(0, 7) == 0);
}

TEST(ScaleOrder, BothWaysOverOddSizes) {
  for (std::int64_t rows : {0, 1, 3, 17, 31, 32, 33, 65, 127, 128, 129, 300}) {
    for (std::int64_t groups : {1, 2, 3, 4, 5, 7, 8, 9, 33}) {
      std::vector<std::uint8_t> plain(static_cast<std::size_t>(rows * groups));
      for (std::size_t i = 0; i < plain.size(); ++i)
        plain[i] = static_cast<std::uint8_t>(1 + i * 7 % 255);  // never 0
      std::vector<std::uint8_t> tiled(static_cast<std::size_t>(tiled_scale_bytes(rows, groups)), 0xee);
      to_tiled_scales({.rows = rows, .groups = groups, .from = plain, .to = tiled});
      std::size_t filled = 0;
      for (std::uint8_t scale : tiled) filled += scale != 0 ? 1 : 0;
      ASSERT_EQ(filled, plain.size()) << "padding is zero and no two scales share a place";
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t group = 0; group < groups; ++group) {
          // The formula of the header once more, in the shape in which the vendor's documents state it.
          const std::int64_t tile = (row / 128) * ((groups + 3) / 4) + group / 4;
          const std::int64_t within = (row % 32) * 16 + ((row % 128) / 32) * 4 + group % 4;
          ASSERT_EQ(tiled[static_cast<std::size_t>(tile * 512 + within)],
                    plain[static_cast<std::size_t>(row * groups + group)]);
        }
      }
      std::vector<std::uint8_t> back(plain.size());
      from_tiled_scales({.rows = rows, .groups = groups, .from = tiled, .to = back});
      ASSERT_EQ(back, plain) << rows << " x " << groups;
    }
  }
}

TEST(ScaleOrder, WrongSizesAreRefused) {
  std::vector<std::uint8_t> plain(6), tiled(512);
  EXPECT_THROW(to_tiled_scales({.rows = 2, .groups = 4, .from = plain, .to = tiled}), Error);
  EXPECT_THROW(from_tiled_scales({.rows = 2, .groups = 3, .from = plain, .to = tiled}), Error);
  EXPECT_NO_THROW(to_tiled_scales({.rows = 2, .groups = 3, .from = plain, .to = tiled}));
}

}  // namespace
}  // namespace redline::quant
