// Encoding in tiles gives what the codecs give for the whole weight at once, whatever the number of threads;
// the sums are those of their definition.
#include "quant/encode_weight.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "quant/fp8.hpp"
#include "quant/nvfp4.hpp"

namespace redline::quant {
namespace {

// BF16 numbers of many magnitudes, one byte past an even address.
struct Source {
  Source(std::int64_t row_count, std::int64_t column_count) : rows(row_count), columns(column_count) {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const auto x = static_cast<double>(i);
      values.push_back(from_bf16(
          to_bf16(static_cast<float>(std::sin(x * std::numbers::sqrt2) * std::exp(std::sin(x / 999))))));
    }
    bytes.resize(2 * values.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t code = to_bf16(values[i]);
      std::memcpy(bytes.data() + 1 + 2 * i, &code, sizeof code);
    }
  }
  std::span<const std::byte> span() const { return std::span(bytes).subspan(1); }

  std::int64_t rows, columns;
  std::vector<float> values;
  std::vector<std::byte> bytes;
};

struct Encoded {
  std::vector<std::uint8_t> codes;
  std::vector<std::byte> scales;
  EncodingError error;
};

Encoded encode(const Source& source, Format format, int threads) {
  ThreadPool pool(threads);
  const std::size_t elements = source.values.size();
  Encoded out;
  out.codes.resize(format == Format::Nvfp4 ? elements / 2 : elements);
  if (format == Format::Nvfp4) out.scales.resize(elements / 16);
  if (format == Format::Fp8Block) {
    out.scales.resize(static_cast<std::size_t>(2 * Fp8Blocks::of_128(source.rows, source.columns).scales()));
  }
  out.error =
      encode_weight(pool, {.format = format,
                           .rows = source.rows,
                           .columns = source.columns,
                           .values = source.span(),
                           .tensor_scale = tensor_scale_of(format, largest_bf16(pool, source.span(), "w")),
                           .codes = out.codes,
                           .scales = out.scales,
                           .name = "w"});
  return out;
}

void expect_sums(const EncodingError& error, const std::vector<float>& values,
                 const std::vector<float>& decoded) {
  long double difference = 0, original = 0, decoded_squares = 0, product = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long double w = values[i], d = decoded[i];
    difference += (w - d) * (w - d);
    original += w * w;
    decoded_squares += d * d;
    product += w * d;
  }
  EXPECT_EQ(error.weights, static_cast<std::int64_t>(values.size()));
  EXPECT_NEAR(error.relative(), static_cast<double>(std::sqrt(difference / original)), 1e-12);
  EXPECT_NEAR(error.cosine(), static_cast<double>(product / std::sqrt(original * decoded_squares)), 1e-12);
}

// Sizes that leave partial tiles and partial blocks at both edges.
TEST(EncodeWeight, Nvfp4IsThatOfTheWholeTensor) {
  const Source source(301, 336);
  std::vector<std::uint8_t> codes(source.values.size() / 2), scales(source.values.size() / 16);
  const float scale = encode_nvfp4({.rows = source.rows,
                                    .columns = source.columns,
                                    .values = source.values,
                                    .codes = codes,
                                    .scales = scales});
  std::vector<float> decoded(source.values.size());
  decode_nvfp4({.rows = source.rows,
                .columns = source.columns,
                .codes = codes,
                .scales = scales,
                .tensor_scale = scale,
                .out = decoded});
  for (const int threads : {1, 3}) {
    const Encoded out = encode(source, Format::Nvfp4, threads);
    EXPECT_EQ(out.codes, codes);
    EXPECT_EQ(std::memcmp(out.scales.data(), scales.data(), scales.size()), 0);
    expect_sums(out.error, source.values, decoded);
  }
}

TEST(EncodeWeight, Fp8IsThatOfTheWholeTensor) {
  const Source source(301, 333);
  for (const Format format : {Format::Fp8Block, Format::Fp8Tensor}) {
    const bool block = format == Format::Fp8Block;
    const Fp8Blocks blocks = block ? Fp8Blocks::of_128(source.rows, source.columns)
                                   : Fp8Blocks::per_tensor(source.rows, source.columns);
    const DType type = block ? DType::BF16 : DType::F32;
    std::vector<std::uint8_t> codes(source.values.size());
    std::vector<std::byte> scales(static_cast<std::size_t>(blocks.scales() * bits_of(type) / 8));
    encode_fp8(
        {.blocks = blocks, .values = source.values, .codes = codes, .scales = scales, .scale_type = type});
    std::vector<float> decoded(source.values.size());
    decode_fp8({.blocks = blocks, .codes = codes, .scales = scales, .scale_type = type, .out = decoded});
    for (const int threads : {1, 3}) {
      const Encoded out = encode(source, format, threads);
      EXPECT_EQ(out.codes, codes);
      EXPECT_EQ(out.scales, block ? scales : std::vector<std::byte>{});
      expect_sums(out.error, source.values, decoded);
    }
  }
}

TEST(EncodeWeight, SumsDoNotDependOnThreads) {
  const Source source(700, 512);
  for (const Format format : {Format::Nvfp4, Format::Fp8Block, Format::Fp8Tensor}) {
    EXPECT_EQ(encode(source, format, 1).error, encode(source, format, 5).error);
  }
}

TEST(EncodeWeight, AnErrorOfZeros) {
  const EncodingError zeros{.weights = 4};
  EXPECT_EQ(zeros.relative(), 0);
  EXPECT_EQ(zeros.cosine(), 1);
}

TEST(EncodeWeight, TheLargestValueAndTheFirstThatIsNotFinite) {
  Source source(3, 5);
  const std::uint16_t large = to_bf16(-77), infinite = 0xff80, nan = 0x7fc1;
  std::memcpy(source.bytes.data() + 1 + 2 * 14, &large, 2);
  ThreadPool pool(2);
  EXPECT_EQ(largest_bf16(pool, source.span(), "w"), 77);
  std::memcpy(source.bytes.data() + 1 + 2 * 13, &infinite, 2);
  std::memcpy(source.bytes.data() + 1 + 2 * 11, &nan, 2);
  try {
    largest_bf16(pool, source.span(), "w");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "tensor \"w\": element 11 is nan; only finite values can be quantised");
  }
  EXPECT_EQ(largest_bf16(pool, {}, "w"), 0);
}

}  // namespace
}  // namespace redline::quant
