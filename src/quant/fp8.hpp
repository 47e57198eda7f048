// FP8 weights: e4m3 codes and scales that multiply, w = code · scale. Per tensor, per channel (row) and per
// block of 128 x 128 are one thing: a scale for each block of block_rows x block_columns, where blocks at the
// edges may be partial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/dtype.hpp"

namespace redline::quant {

// The elements under one scale.
struct Fp8Blocks {
  std::int64_t rows = 0, columns = 0;              // of the weight
  std::int64_t block_rows = 0, block_columns = 0;  // of one block
  static Fp8Blocks per_tensor(std::int64_t rows, std::int64_t columns);
  static Fp8Blocks per_channel(std::int64_t rows, std::int64_t columns);  // scales are [rows] or [rows, 1]
  static Fp8Blocks of_128(std::int64_t rows, std::int64_t columns);  // scales are [⌈rows/128⌉, ⌈columns/128⌉]

  std::int64_t down() const;    // blocks from top to bottom
  std::int64_t across() const;  // blocks from left to right
  std::int64_t scales() const { return down() * across(); }
};

// Scales lie as on disk, row by row, F32 or BF16, at any address.
struct DecodeFp8Args {
  Fp8Blocks blocks;
  std::span<const std::uint8_t> codes;  // [rows, columns]
  std::span<const std::byte> scales;    // [down, across] of scale_type
  DType scale_type = DType::F32;
  std::span<float> out;   // [rows, columns]; each the exact product rounded once
  std::string_view name;  // for messages
};
void decode_fp8(const DecodeFp8Args& args);

// scale = largest magnitude of the block / 448, rounded to scale_type; 1 for a block of zeros. code = e4m3(w
// / scale) with the rounded scale, saturating (a bf16 scale that was rounded down puts the block's largest
// values beyond 448).
struct EncodeFp8Args {
  Fp8Blocks blocks;
  std::span<const float> values;  // [rows, columns], finite
  // Instead of the rule above, for every block: parts of one block that are encoded apart need it.
  std::optional<float> scale = std::nullopt;
  std::span<std::uint8_t> codes;  // out: [rows, columns]
  std::span<std::byte> scales;    // out: [down, across] of scale_type
  DType scale_type = DType::F32;
  std::string_view name;  // for messages
};
void encode_fp8(const EncodeFp8Args& args);

// The scale that the rule gives for a block whose largest magnitude is `largest`.
float fp8_scale(float largest, DType scale_type);

}  // namespace redline::quant
