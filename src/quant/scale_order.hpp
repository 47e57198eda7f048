// The order in which block-scaled tensor-core instructions of SM100 and SM120 read NVFP4 scales. Files hold
// plain rows of scales; the chip wants tiles of 128 rows x 4 scales (512 bytes), tile rows one after another,
// and inside a tile
//   offset = (row mod 32) · 16 + ((row / 32) mod 4) · 4 + (group mod 4)
// where a group is 16 columns of the weight and has one scale. Rows and groups are padded to whole tiles.
#pragma once

#include <cstdint>
#include <span>

namespace redline::quant {

constexpr std::int64_t kScaleTileRows = 128, kScaleTileGroups = 4;

// Bytes in tiled order, padding included.
constexpr std::int64_t tiled_scale_bytes(std::int64_t rows, std::int64_t groups) {
  const std::int64_t tile_rows = (rows + kScaleTileRows - 1) / kScaleTileRows;
  const std::int64_t tile_columns = (groups + kScaleTileGroups - 1) / kScaleTileGroups;
  return tile_rows * tile_columns * kScaleTileRows * kScaleTileGroups;
}

// Where the scale of (row, group) lies; `groups` is the plain row's length.
constexpr std::int64_t tiled_scale_offset(std::int64_t row, std::int64_t group, std::int64_t groups) {
  const std::int64_t tile_columns = (groups + kScaleTileGroups - 1) / kScaleTileGroups;
  const std::int64_t tile = row / kScaleTileRows * tile_columns + group / kScaleTileGroups;
  return tile * kScaleTileRows * kScaleTileGroups + row % 32 * 16 + row / 32 % 4 * 4 +
         group % kScaleTileGroups;
}

struct ScaleOrderArgs {
  std::int64_t rows = 0, groups = 0;
  std::span<const std::uint8_t> from;
  std::span<std::uint8_t> to;
};
void to_tiled_scales(
    const ScaleOrderArgs& args);  // [rows, groups] -> tiles; padding becomes 0, which is e4m3's zero
void from_tiled_scales(const ScaleOrderArgs& args);  // tiles -> [rows, groups]; padding is not looked at

}  // namespace redline::quant
