// Tiles have fixed sizes, and their sums are added in the tiles' order: so reports are the same on any
// machine.
#include "quant/encode_weight.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "quant/fp8.hpp"
#include "quant/nvfp4.hpp"

namespace redline::quant {
namespace {

constexpr std::int64_t kBlock = 128;             // rows and columns of an FP8 block
constexpr std::int64_t kTileElements = 1 << 15;  // its floats stay in the second-level cache
constexpr std::uint16_t kBf16Infinity = 0x7f80;

std::uint16_t bf16_at(std::span<const std::byte> values, std::size_t index) {
  std::uint16_t code;
  std::memcpy(&code, values.data() + 2 * index, sizeof code);
  return code;
}

struct Tiling {
  std::int64_t rows, columns;            // of the weight
  std::int64_t tile_rows, tile_columns;  // of a tile; smaller at the edges

  std::int64_t across() const { return (columns + tile_columns - 1) / tile_columns; }
  std::int64_t tiles() const { return (rows + tile_rows - 1) / tile_rows * across(); }
};

Tiling tiling_of(const EncodeWeightArgs& args) {
  const std::int64_t columns = std::max<std::int64_t>(args.columns, 1);
  if (args.format == Format::Fp8Block) {
    return {args.rows, args.columns, kBlock, std::min(columns, kTileElements / kBlock)};
  }
  return {args.rows, args.columns, std::max<std::int64_t>(kTileElements / columns, 1), columns};
}

// One thread's tile, taken out of the weight and put back.
class Tile {
 public:
  explicit Tile(const EncodeWeightArgs& args) : args_(args) {}

  EncodingError encode(const Tiling& tiling, std::int64_t number) {
    row_ = number / tiling.across() * tiling.tile_rows;
    column_ = number % tiling.across() * tiling.tile_columns;
    rows_ = std::min(tiling.tile_rows, tiling.rows - row_);
    columns_ = std::min(tiling.tile_columns, tiling.columns - column_);
    load();
    decoded_.resize(values_.size());
    switch (args_.format) {
      case Format::Nvfp4:
        nvfp4();
        break;
      case Format::Fp8Tensor:
        fp8_tensor();
        break;
      default:
        fp8_block();
        break;
    }
    return sums();
  }

 private:
  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((row_ + row) * args_.columns + column_ + column);
  }
  std::size_t elements() const { return static_cast<std::size_t>(rows_ * columns_); }

  void load() {
    values_.resize(elements());
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::size_t from = at(row, 0);
      float* to = values_.data() + row * columns_;
      const auto count = static_cast<std::size_t>(columns_);
      for (std::size_t i = 0; i < count; ++i) to[i] = from_bf16(bf16_at(args_.values, from + i));
    }
  }

  void nvfp4() {
    const std::size_t first = at(0, 0);
    const auto codes = args_.codes.subspan(first / 2, elements() / 2);
    const std::span<std::uint8_t> scales(
        reinterpret_cast<std::uint8_t*>(args_.scales.data()) + first / kNvfp4Block, elements() / kNvfp4Block);
    encode_nvfp4({.rows = rows_,
                  .columns = columns_,
                  .values = values_,
                  .tensor_scale = args_.tensor_scale,
                  .codes = codes,
                  .scales = scales,
                  .name = args_.name});
    decode_nvfp4({.rows = rows_,
                  .columns = columns_,
                  .codes = codes,
                  .scales = scales,
                  .tensor_scale = args_.tensor_scale,
                  .out = decoded_,
                  .name = args_.name});
  }

  void fp8_tensor() {
    const auto codes = args_.codes.subspan(at(0, 0), elements());
    float scale = 0;
    const std::span<std::byte> scales = std::as_writable_bytes(std::span(&scale, 1));
    const Fp8Blocks blocks = Fp8Blocks::per_tensor(rows_, columns_);
    encode_fp8({.blocks = blocks,
                .values = values_,
                .scale = args_.tensor_scale,
                .codes = codes,
                .scales = scales,
                .name = args_.name});
    decode_fp8({.blocks = blocks, .codes = codes, .scales = scales, .out = decoded_, .name = args_.name});
  }

  // Blocks go across the rows, so a tile's codes and scales do not lie together in the weight.
  void fp8_block() {
    const Fp8Blocks blocks = Fp8Blocks::of_128(rows_, columns_);
    codes_.resize(elements());
    scales_.resize(static_cast<std::size_t>(2 * blocks.scales()));
    encode_fp8({.blocks = blocks,
                .values = values_,
                .codes = codes_,
                .scales = scales_,
                .scale_type = DType::BF16,
                .name = args_.name});
    decode_fp8({.blocks = blocks,
                .codes = codes_,
                .scales = scales_,
                .scale_type = DType::BF16,
                .out = decoded_,
                .name = args_.name});
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::memcpy(args_.codes.data() + at(row, 0), codes_.data() + row * columns_,
                  static_cast<std::size_t>(columns_));
    }
    const std::int64_t across = Fp8Blocks::of_128(args_.rows, args_.columns).across();
    std::memcpy(args_.scales.data() + 2 * (row_ / kBlock * across + column_ / kBlock), scales_.data(),
                scales_.size());
  }

  // Four running sums of each kind: additions of one chain would wait for each other.
  EncodingError sums() const {
    constexpr std::size_t kLanes = 4;
    std::array<double, kLanes> difference{}, original{}, decoded{}, product{};
    const auto add = [&](std::size_t i, std::size_t lane) {
      const double w = values_[i], d = decoded_[i];
      difference[lane] += (w - d) * (w - d);
      original[lane] += w * w;
      decoded[lane] += d * d;
      product[lane] += w * d;
    };
    std::size_t i = 0;
    for (; i + kLanes <= values_.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
    }
    for (; i < values_.size(); ++i) add(i, 0);
    const auto total = [](const std::array<double, kLanes>& lanes) {
      return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    };
    return {.weights = rows_ * columns_,
            .difference = total(difference),
            .original = total(original),
            .decoded = total(decoded),
            .product = total(product)};
  }

  const EncodeWeightArgs& args_;
  std::int64_t row_ = 0, column_ = 0, rows_ = 0, columns_ = 0;
  std::vector<float> values_, decoded_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::byte> scales_;
};

void check(const EncodeWeightArgs& args) {
  const auto elements = static_cast<std::size_t>(args.rows * args.columns);
  std::size_t codes = elements, scales = 0;
  switch (args.format) {
    case Format::Nvfp4:
      ensure(args.columns % kNvfp4Block == 0, ErrorKind::Unsupported,
             "tensor \"{}\": [{}, {}] cannot be NVFP4; columns must be a multiple of {}", args.name,
             args.rows, args.columns, kNvfp4Block);
      codes = elements / 2;
      scales = elements / kNvfp4Block;
      break;
    case Format::Fp8Block:
      scales = static_cast<std::size_t>(2 * Fp8Blocks::of_128(args.rows, args.columns).scales());
      break;
    case Format::Fp8Tensor:
      break;
    default:
      fail(ErrorKind::Internal, "tensor \"{}\": nothing encodes {}", args.name, name_of(args.format));
  }
  ensure(args.values.size() == 2 * elements && args.codes.size() == codes && args.scales.size() == scales,
         "tensor \"{}\": {} bytes of values, {} of codes, {} of scales, expected {}, {}, {}", args.name,
         args.values.size(), args.codes.size(), args.scales.size(), 2 * elements, codes, scales);
}

}  // namespace

void EncodingError::add(const EncodingError& more) {
  weights += more.weights;
  difference += more.difference;
  original += more.original;
  decoded += more.decoded;
  product += more.product;
}

double EncodingError::relative() const { return original > 0 ? std::sqrt(difference / original) : 0; }

double EncodingError::cosine() const {
  const double length = std::sqrt(original) * std::sqrt(decoded);
  if (length > 0) return product / length;
  return original == decoded ? 1 : 0;
}

float largest_bf16(ThreadPool& pool, std::span<const std::byte> values, std::string_view name) {
  const std::size_t count = values.size() / 2;
  std::vector<std::uint16_t> largest(static_cast<std::size_t>(pool.size()), 0);
  pool.parallel_for(count, [&](const ThreadPool::Chunk& chunk) {
    std::uint16_t most = 0;
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
      most = std::max<std::uint16_t>(most, bf16_at(values, i) & 0x7fff);
    }
    largest[static_cast<std::size_t>(chunk.index)] = most;
  });
  const std::uint16_t most = *std::max_element(largest.begin(), largest.end());
  if (most >= kBf16Infinity) {
    std::size_t i = 0;
    while ((bf16_at(values, i) & kBf16Infinity) != kBf16Infinity) ++i;
    fail(ErrorKind::BadInput, "tensor \"{}\": element {} is {}; only finite values can be quantised", name, i,
         from_bf16(bf16_at(values, i)));
  }
  return from_bf16(most);
}

float tensor_scale_of(Format format, float largest) {
  if (format == Format::Nvfp4) return nvfp4_tensor_scale(Nvfp4Form::ModelOpt, largest);
  return format == Format::Fp8Tensor ? fp8_scale(largest, DType::F32) : 1;
}

EncodingError encode_weight(ThreadPool& pool, const EncodeWeightArgs& args) {
  check(args);
  const Tiling tiling = tiling_of(args);
  std::vector<EncodingError> errors(static_cast<std::size_t>(tiling.tiles()));
  pool.parallel_for(errors.size(), [&](const ThreadPool::Chunk& chunk) {
    Tile tile(args);
    for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
      errors[i] = tile.encode(tiling, static_cast<std::int64_t>(i));
    }
  });
  EncodingError sum;
  for (const EncodingError& error : errors) sum.add(error);
  return sum;
}

}  // namespace redline::quant
