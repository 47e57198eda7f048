// FP8 scales at every granularity: values worked out by hand, partial blocks at the edges, bf16 scales, all
// codes.
#include "quant/fp8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/philox.hpp"

namespace redline::quant {
namespace {

struct Encoded {
  std::vector<std::uint8_t> codes;
  std::vector<std::byte> scales;
};

Encoded encode(const Fp8Blocks& blocks, const std::vector<float>& values, DType scale_type = DType::F32) {
  const std::size_t width = scale_type == DType::F32 ? 4 : 2;
  Encoded encoded{std::vector<std::uint8_t>(values.size()),
                  std::vector<std::byte>(static_cast<std::size_t>(blocks.scales()) * width)};
  encode_fp8({.blocks = blocks,
              .values = values,
              .codes = encoded.codes,
              .scales = encoded.scales,
              .scale_type = scale_type,
              .name = "t"});
  return encoded;
}

std::vector<float> decode(const Fp8Blocks& blocks, const Encoded& encoded, DType scale_type = DType::F32) {
  std::vector<float> out(encoded.codes.size());
  decode_fp8({.blocks = blocks,
              .codes = encoded.codes,
              .scales = encoded.scales,
              .scale_type = scale_type,
              .out = out,
              .name = "t"});
  return out;
}

std::vector<float> scales_of(const Encoded& encoded) {
  std::vector<float> scales(encoded.scales.size() / 4);
  std::memcpy(scales.data(), encoded.scales.data(), encoded.scales.size());
  return scales;
}

TEST(Fp8, AllCodesDecodeExactly) {
  Encoded encoded{std::vector<std::uint8_t>(256), std::vector<std::byte>(4)};
  for (std::size_t i = 0; i < 256; ++i) encoded.codes[i] = static_cast<std::uint8_t>(i);
  const float scale = 0.0123f;
  std::memcpy(encoded.scales.data(), &scale, 4);
  const std::vector<float> out = decode(Fp8Blocks::per_tensor(2, 128), encoded);
  for (int code = 0; code < 256; ++code) {
    const int exponent = (code >> 3) & 15, mantissa = code & 7;
    const double sign = code < 128 ? 1 : -1;
    const double value =
        sign * (exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10));
    const float found = out[static_cast<std::size_t>(code)];
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(found));
    } else {
      EXPECT_EQ(found, static_cast<float>(value * static_cast<double>(scale))) << code;
    }
  }
}

TEST(Fp8, PerTensorAndPerChannelByHand) {
  const std::vector<float> values = {448, -224, 1, 0, /**/ 56, 3.5f, -7, 0.109375f};
  const Encoded tensor = encode(Fp8Blocks::per_tensor(2, 4), values);
  EXPECT_EQ(scales_of(tensor), std::vector<float>{1});
  EXPECT_EQ(decode(Fp8Blocks::per_tensor(2, 4), tensor), values) << "all of them are e4m3 values";
  const Encoded channel = encode(Fp8Blocks::per_channel(2, 4), values);
  EXPECT_EQ(scales_of(channel), (std::vector<float>{1, 0.125f}));
  EXPECT_EQ(channel.codes[4], 0x7e);
  EXPECT_EQ(decode(Fp8Blocks::per_channel(2, 4), channel), values);
}

TEST(Fp8, BlocksAtTheEdgesArePartial) {
  // 130 x 300: 2 x 3 blocks, the last of 2 rows and 44 columns. Each block's largest value tells its number.
  const Fp8Blocks blocks = Fp8Blocks::of_128(130, 300);
  EXPECT_EQ(blocks.down(), 2);
  EXPECT_EQ(blocks.across(), 3);
  std::vector<float> values(130 * 300);
  for (std::size_t row = 0; row < 130; ++row) {
    for (std::size_t column = 0; column < 300; ++column) {
      const std::size_t block = row / 128 * 3 + column / 128;
      values[row * 300 + column] =
          448 * std::ldexp(1.0f, static_cast<int>(block)) * (column % 2 == 0 ? 1.0f : -0.5f);
    }
  }
  const Encoded encoded = encode(blocks, values);
  EXPECT_EQ(scales_of(encoded), (std::vector<float>{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(decode(blocks, encoded), values);
}

TEST(Fp8, EveryElementUsesTheScaleOfItsBlock) {
  // Decoding against the formula, over odd sizes: W[n, k] = code · scale[n / block_rows, k / block_columns].
  for (auto [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {127, 129}, {128, 128}, {129, 127}, {257, 3}}) {
    const Fp8Blocks blocks = Fp8Blocks::of_128(rows, columns);
    Encoded encoded{std::vector<std::uint8_t>(static_cast<std::size_t>(rows * columns)),
                    std::vector<std::byte>(static_cast<std::size_t>(blocks.scales()) * 2)};
    for (std::size_t i = 0; i < encoded.codes.size(); ++i) {
      encoded.codes[i] = static_cast<std::uint8_t>(random_bits(1, 1, i) % 127);
    }
    std::vector<std::uint16_t> scales;
    for (std::int64_t i = 0; i < blocks.scales(); ++i)
      scales.push_back(static_cast<std::uint16_t>(0x3c00 + 13 * i));
    std::memcpy(encoded.scales.data(), scales.data(), encoded.scales.size());
    const std::vector<float> out = decode(blocks, encoded, DType::BF16);
    for (std::int64_t n = 0; n < rows; ++n) {
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto i = static_cast<std::size_t>(n * columns + k);
        const float scale = from_bf16(scales[static_cast<std::size_t>(n / 128 * blocks.across() + k / 128)]);
        ASSERT_EQ(out[i], from_e4m3(encoded.codes[i]) * scale) << n << " " << k;
      }
    }
  }
}

TEST(Fp8, Bf16ScalesAreRoundedBeforeTheyAreUsed) {
  // 1.003 · 448 needs the scale 1.003, which bf16 rounds down to 1: the largest value saturates at 448.
  const std::vector<float> values = {1.003f * 448, 224, 1, 0};
  const Encoded encoded = encode(Fp8Blocks::per_tensor(1, 4), values, DType::BF16);
  std::uint16_t scale = 0;
  std::memcpy(&scale, encoded.scales.data(), 2);
  EXPECT_EQ(scale, 0x3f80);
  EXPECT_EQ(decode(Fp8Blocks::per_tensor(1, 4), encoded, DType::BF16), (std::vector<float>{448, 224, 1, 0}));
}

TEST(Fp8, ZerosHaveScaleOneAndTinyValuesDoNotDivideByZero) {
  const std::vector<float> zeros(8);
  EXPECT_EQ(scales_of(encode(Fp8Blocks::per_channel(2, 4), zeros)), (std::vector<float>{1, 1}));
  const std::vector<float> tiny(4, std::numeric_limits<float>::denorm_min());
  for (DType type : {DType::F32, DType::BF16}) {
    for (float back :
         decode(Fp8Blocks::per_tensor(1, 4), encode(Fp8Blocks::per_tensor(1, 4), tiny, type), type)) {
      EXPECT_EQ(back, 0);
    }
  }
  EXPECT_TRUE(encode(Fp8Blocks::of_128(0, 5), {}).codes.empty());
}

TEST(Fp8, ErrorsNameTheTensor) {
  std::vector<float> values = {1, 2, std::numeric_limits<float>::quiet_NaN(), 3};
  std::vector<std::uint8_t> codes(4);
  std::vector<std::byte> scales(4);
  const auto message = [&](DType type) -> std::string {
    try {
      encode_fp8({.blocks = Fp8Blocks::per_tensor(2, 2),
                  .values = values,
                  .codes = codes,
                  .scales = scales,
                  .scale_type = type,
                  .name = "a.weight"});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(DType::F32),
            "tensor \"a.weight\": element 2 is nan; only finite values can be quantised");
  EXPECT_EQ(message(DType::F16), "tensor \"a.weight\": FP8 scales of type F16, expected F32 or BF16");
  EXPECT_EQ(message(DType::BF16), "tensor \"a.weight\": 4 bytes of scales, expected 2: [1, 1] of BF16");
}

}  // namespace
}  // namespace redline::quant
