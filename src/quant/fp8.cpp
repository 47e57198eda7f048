// One walk over blocks serves encoding and decoding: a block is a run of columns in each of its rows.
#include "quant/fp8.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "quant/magnitude.hpp"

namespace redline::quant {
namespace {

constexpr float kLargestCode = 448;

constexpr std::array<float, 256> kValues = [] {
  std::array<float, 256> values{};
  for (std::size_t code = 0; code < 256; ++code) values[code] = from_e4m3(static_cast<std::uint8_t>(code));
  return values;
}();

// Offset and length of the block's part of each of its rows, in elements of a [rows, columns] tensor.
template <class Visit>
void for_each_run(const Fp8Blocks& blocks, std::int64_t block, Visit visit) {
  const std::int64_t first_row = block / blocks.across() * blocks.block_rows;
  const std::int64_t first_column = block % blocks.across() * blocks.block_columns;
  const std::int64_t last_row = std::min(first_row + blocks.block_rows, blocks.rows);
  const std::int64_t length = std::min(blocks.block_columns, blocks.columns - first_column);
  for (std::int64_t row = first_row; row < last_row; ++row) {
    visit(static_cast<std::size_t>(row * blocks.columns + first_column), static_cast<std::size_t>(length));
  }
}

void check(const Fp8Blocks& blocks, std::size_t codes, std::size_t values, std::size_t scale_bytes,
           DType scale_type, std::string_view name) {
  ensure(blocks.rows >= 0 && blocks.columns >= 0 && blocks.block_rows > 0 && blocks.block_columns > 0,
         ErrorKind::BadInput,
         "tensor \"{}\": [{}, {}] in blocks of [{}, {}]; sizes must not be negative and blocks not empty",
         name, blocks.rows, blocks.columns, blocks.block_rows, blocks.block_columns);
  ensure(scale_type == DType::F32 || scale_type == DType::BF16, ErrorKind::Unsupported,
         "tensor \"{}\": FP8 scales of type {}, expected F32 or BF16", name, name_of(scale_type));
  const auto elements = static_cast<std::size_t>(blocks.rows * blocks.columns);
  const auto bytes = static_cast<std::size_t>(blocks.scales() * bits_of(scale_type) / 8);
  ensure(codes == elements && values == elements, ErrorKind::BadInput,
         "tensor \"{}\": {} codes and {} values, expected {}", name, codes, values, elements);
  ensure(scale_bytes == bytes, ErrorKind::BadInput,
         "tensor \"{}\": {} bytes of scales, expected {}: [{}, {}] of {}", name, scale_bytes, bytes,
         blocks.down(), blocks.across(), name_of(scale_type));
}

float load_scale(std::span<const std::byte> scales, std::int64_t index, DType type) {
  if (type == DType::BF16) {
    std::uint16_t code;
    std::memcpy(&code, scales.data() + 2 * index, sizeof code);
    return from_bf16(code);
  }
  float scale;
  std::memcpy(&scale, scales.data() + 4 * index, sizeof scale);
  return scale;
}

// Returns what load_scale will return.
float store_scale(std::span<std::byte> scales, std::int64_t index, DType type, float scale) {
  if (type == DType::BF16) {
    const std::uint16_t code = to_bf16(scale);
    std::memcpy(scales.data() + 2 * index, &code, sizeof code);
    return from_bf16(code);
  }
  std::memcpy(scales.data() + 4 * index, &scale, sizeof scale);
  return scale;
}

}  // namespace

Fp8Blocks Fp8Blocks::per_tensor(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1)};
}

Fp8Blocks Fp8Blocks::per_channel(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, 1, std::max<std::int64_t>(columns, 1)};
}

Fp8Blocks Fp8Blocks::of_128(std::int64_t rows, std::int64_t columns) { return {rows, columns, 128, 128}; }

std::int64_t Fp8Blocks::down() const { return (rows + block_rows - 1) / block_rows; }

std::int64_t Fp8Blocks::across() const { return (columns + block_columns - 1) / block_columns; }

void decode_fp8(const DecodeFp8Args& args) {
  check(args.blocks, args.codes.size(), args.out.size(), args.scales.size(), args.scale_type, args.name);
  for (std::int64_t block = 0; block < args.blocks.scales(); ++block) {
    const float scale = load_scale(args.scales, block, args.scale_type);
    for_each_run(args.blocks, block, [&](std::size_t begin, std::size_t length) {
      for (std::size_t i = begin; i < begin + length; ++i) args.out[i] = kValues[args.codes[i]] * scale;
    });
  }
}

float fp8_scale(float largest, DType scale_type) {
  float scale = largest / kLargestCode;
  if (scale_type == DType::BF16) scale = from_bf16(to_bf16(scale));
  return scale == 0 ? 1 : scale;  // zeros, or values too small for any scale
}

void encode_fp8(const EncodeFp8Args& args) {
  check(args.blocks, args.codes.size(), args.values.size(), args.scales.size(), args.scale_type, args.name);
  largest_magnitude(args.values, args.name);  // for its check: a maximum of one block may pass over a NaN
  for (std::int64_t block = 0; block < args.blocks.scales(); ++block) {
    float largest = 0;
    for_each_run(args.blocks, block, [&](std::size_t begin, std::size_t length) {
      for (float value : args.values.subspan(begin, length)) largest = std::max(largest, std::fabs(value));
    });
    const float scale = store_scale(args.scales, block, args.scale_type,
                                    args.scale ? *args.scale : fp8_scale(largest, args.scale_type));
    for_each_run(args.blocks, block, [&](std::size_t begin, std::size_t length) {
      for (std::size_t i = begin; i < begin + length; ++i) args.codes[i] = to_e4m3(args.values[i] / scale);
    });
  }
}

}  // namespace redline::quant
