// NVFP4 against exact arithmetic in double: every code byte under every scale, exactness of code · scale in
// bf16, ties, saturation, zeros, and the two forms of one tensor. What the published makers do:
// quant_golden_test.cpp.
#include "quant/nvfp4.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/philox.hpp"

namespace redline::quant {
namespace {

// By the definition of the format, without core/numbers.hpp: sign, two bits of exponent with bias 1, one of
// mantissa.
double e2m1_by_definition(int code) {
  const int exponent = (code >> 1) & 3, mantissa = code & 1;
  const double magnitude = exponent == 0 ? mantissa * 0.5 : std::ldexp(2 + mantissa, exponent - 2);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

// Sign, four bits of exponent with bias 7, three of mantissa; all ones is NaN.
double e4m3_by_definition(int code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::nan("");
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// One row of 512 columns: all 256 code bytes, each block under the same scale.
std::vector<float> decode_all_bytes(std::uint8_t scale, float tensor_scale, bool divides = false) {
  std::vector<std::uint8_t> codes(256), scales(32, scale);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  std::vector<float> out(512);
  decode_nvfp4({.rows = 1,
                .columns = 512,
                .codes = codes,
                .scales = scales,
                .tensor_scale = tensor_scale,
                .tensor_scale_divides = divides,
                .out = out,
                .name = "all"});
  return out;
}

TEST(Nvfp4, AllBytesUnderAllScales) {
  // 0.0123f has a full significand, so the product has to be rounded; double holds all of it: 24 + 6 bits.
  for (float multiplier : {1.0f, 0.0123f}) {
    for (int scale = 0; scale < 256; ++scale) {
      const std::vector<float> out = decode_all_bytes(static_cast<std::uint8_t>(scale), multiplier);
      for (int byte = 0; byte < 256; ++byte) {
        for (int half = 0; half < 2; ++half) {
          const int code = half == 0 ? byte & 15 : byte >> 4;  // low nibble first
          const double exact =
              e2m1_by_definition(code) * e4m3_by_definition(scale) * static_cast<double>(multiplier);
          const float found = out[static_cast<std::size_t>(2 * byte + half)];
          if (std::isnan(exact)) {
            ASSERT_TRUE(std::isnan(found));
          } else {
            ASSERT_EQ(found, static_cast<float>(exact)) << "byte " << byte << " scale " << scale;
            ASSERT_EQ(std::signbit(found), std::signbit(exact)) << "byte " << byte << " scale " << scale;
          }
        }
      }
    }
  }
}

TEST(Nvfp4, CodeTimesScaleIsExactInBf16AndF16) {
  double smallest = 1e9, largest = 0;
  for (int scale = 0; scale < 256; ++scale) {
    if (std::isnan(e4m3_by_definition(scale))) continue;
    for (int code = 0; code < 16; ++code) {
      const double exact = e2m1_by_definition(code) * e4m3_by_definition(scale);
      ASSERT_EQ(from_bf16(to_bf16(static_cast<float>(exact))), exact);
      ASSERT_EQ(from_f16(to_f16(static_cast<float>(exact))), exact);
      if (exact > 0) smallest = std::min(smallest, exact);
      largest = std::max(largest, exact);
    }
  }
  EXPECT_EQ(smallest, std::ldexp(1, -10));
  EXPECT_EQ(largest, 2688);
}

struct Encoded {
  std::vector<std::uint8_t> codes, scales;
  float tensor_scale = 0;
};

Encoded encode(Nvfp4Form form, const std::vector<float>& values, std::int64_t rows,
               std::optional<float> tensor_scale = {}) {
  Encoded encoded{std::vector<std::uint8_t>(values.size() / 2),
                  std::vector<std::uint8_t>(values.size() / 16)};
  encoded.tensor_scale = encode_nvfp4({.form = form,
                                       .rows = rows,
                                       .columns = static_cast<std::int64_t>(values.size()) / rows,
                                       .values = values,
                                       .tensor_scale = tensor_scale,
                                       .codes = encoded.codes,
                                       .scales = encoded.scales,
                                       .name = "t"});
  return encoded;
}

std::vector<float> decode(const Encoded& encoded, bool divides) {
  std::vector<float> out(encoded.codes.size() * 2);
  decode_nvfp4({.rows = 1,
                .columns = static_cast<std::int64_t>(out.size()),
                .codes = encoded.codes,
                .scales = encoded.scales,
                .tensor_scale = encoded.tensor_scale,
                .tensor_scale_divides = divides,
                .out = out,
                .name = "t"});
  return out;
}

std::vector<float> block_of(std::initializer_list<float> first) {
  std::vector<float> values(first);
  values.resize(16);
  return values;
}

TEST(Nvfp4, TiesGoToTheEvenCodeAndLargeValuesSaturate) {
  // The largest value is 6 and the tensor scale 1, so block scale and step are 1 and quotients are the
  // values.
  const std::vector<float> values = block_of(
      {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, 6, -0.25f, -0.75f, -1.25f, -1.75f, -2.5f, -3.5f, -5, -6});
  for (Nvfp4Form form : {Nvfp4Form::ModelOpt, Nvfp4Form::CompressedTensors}) {
    const Encoded encoded = encode(form, values, 1, 1.0f);
    EXPECT_EQ(encoded.scales[0], to_e4m3(1));
    EXPECT_EQ(decode(encoded, false),
              (std::vector<float>{0, 1, 1, 2, 2, 4, 4, 6, 0, -1, -1, -2, -2, -4, -4, -6}));
    // Under a tensor scale that is too small the block scale stops at 448 and codes at 6.
    const float small = form == Nvfp4Form::ModelOpt ? 1e-6f : 1e6f;
    const Encoded saturated = encode(form, block_of({6, -6, 1}), 1, small);
    EXPECT_EQ(saturated.scales[0], 0x7e);
    EXPECT_EQ(saturated.codes[0], 0xf7);
    EXPECT_EQ(saturated.codes[1], 0x07);
  }
}

TEST(Nvfp4, LowNibbleIsTheEvenColumn) {
  const Encoded encoded = encode(Nvfp4Form::ModelOpt, block_of({6, 0.5f, -1}), 1, 1.0f);
  EXPECT_EQ(encoded.codes[0], 0x17);
  EXPECT_EQ(encoded.codes[1], 0x0a);
}

TEST(Nvfp4, TensorScaleFollowsTheForm) {
  EXPECT_EQ(nvfp4_tensor_scale(Nvfp4Form::ModelOpt, 2688), 1);
  EXPECT_EQ(nvfp4_tensor_scale(Nvfp4Form::ModelOpt, 5), 5.0f / 2688);
  EXPECT_EQ(nvfp4_tensor_scale(Nvfp4Form::CompressedTensors, 5), 2688.0f / 5);
  EXPECT_EQ(nvfp4_tensor_scale(Nvfp4Form::CompressedTensors, 1e-37f), 1) << "2688 / 1e-37 is infinite";
  for (Nvfp4Form form : {Nvfp4Form::ModelOpt, Nvfp4Form::CompressedTensors})
    EXPECT_EQ(nvfp4_tensor_scale(form, 0), 1);
  EXPECT_EQ(nvfp4_multiplier(4, true), 0.25f);
  EXPECT_EQ(nvfp4_multiplier(4, false), 4);
}

TEST(Nvfp4, BlocksOfZeros) {
  std::vector<float> values(32);
  values[0] = 3;
  for (std::size_t i = 16; i < 32; i += 2) values[i] = -0.0f;
  const Encoded modelopt = encode(Nvfp4Form::ModelOpt, values, 1);
  EXPECT_EQ(modelopt.scales[1], to_e4m3(1));
  const Encoded compressed = encode(Nvfp4Form::CompressedTensors, values, 1);
  EXPECT_EQ(compressed.scales[1], to_e4m3(0.125f));
  for (std::size_t i = 8; i < 16; ++i) {
    EXPECT_EQ(modelopt.codes[i], 0);
    EXPECT_EQ(compressed.codes[i], 0);
  }
  for (Nvfp4Form form : {Nvfp4Form::ModelOpt, Nvfp4Form::CompressedTensors}) {
    const bool divides = form == Nvfp4Form::CompressedTensors;
    EXPECT_EQ(decode(encode(form, std::vector<float>(32), 2), divides), std::vector<float>(32))
        << "a tensor of zeros";
  }
}

TEST(Nvfp4, NegativeValuesThatRoundToZeroKeepTheirSignUnlessTheQuotientIsZero) {
  // Step 448: -1 / 448 rounds to -0, code 8; the smallest float / 448 is zero already, code 0.
  const std::vector<float> values = block_of({2688, -1, -std::numeric_limits<float>::denorm_min(), -0.0f});
  for (Nvfp4Form form : {Nvfp4Form::ModelOpt, Nvfp4Form::CompressedTensors}) {
    const Encoded encoded = encode(form, values, 1, 1.0f);
    EXPECT_EQ(encoded.codes[0], 0x87);
    EXPECT_EQ(encoded.codes[1], 0x00);
  }
}

TEST(Nvfp4, TinyBlocksBesideALargeOne) {
  // The second block asks for a scale of 448 · 1e-7, far below e4m3's smallest: 2^-9 here, zero and so 0.125
  // there.
  std::vector<float> values(32, 1e-7f);
  values[0] = 1;
  EXPECT_EQ(encode(Nvfp4Form::ModelOpt, values, 1).scales[1], 1);
  EXPECT_EQ(encode(Nvfp4Form::CompressedTensors, values, 1).scales[1], to_e4m3(0.125f));
}

TEST(Nvfp4, ExtremesStayFinite) {
  const float huge = std::numeric_limits<float>::max(), tiny = std::numeric_limits<float>::denorm_min();
  for (Nvfp4Form form : {Nvfp4Form::ModelOpt, Nvfp4Form::CompressedTensors}) {
    const bool divides = form == Nvfp4Form::CompressedTensors;
    for (float value : {huge, 1e30f, 1e-30f, 1e-38f, tiny}) {
      for (float back : decode(encode(form, block_of({value, -value, value / 2}), 1), divides)) {
        EXPECT_TRUE(std::isfinite(back)) << value;
        EXPECT_LE(std::fabs(back), value * 1.0625f) << value;  // half an e4m3 step of the block scale
      }
    }
  }
}

// A tensor's two forms with reciprocal tensor scales: the same codes and scales decode to the same bits.
TEST(Nvfp4, BothFormsOfOneTensorDecodeToTheSameBits) {
  std::vector<float> values(64 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = uniform_float(1, 2, i) - 0.5f;
  for (float global : {2688.0f / 0.5f, 1234.567f, 8192.0f, 3.0e-5f}) {
    Encoded encoded = encode(Nvfp4Form::CompressedTensors, values, 64, global);
    const std::vector<float> compressed = decode(encoded, true);
    encoded.tensor_scale = nvfp4_multiplier(global, true);
    EXPECT_EQ(decode(encoded, false), compressed);
  }
}

TEST(Nvfp4, BothFormsAgreeWhereTheTensorScaleIsAPowerOfTwo) {
  // Then neither form rounds its tensor scale, and the rules differ for zeros and tiny blocks alone.
  std::vector<float> values(32 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = uniform_float(3, 4, i) - 0.5f;
  values[5] = 0.65625f;  // 2688 / 4096
  const Encoded modelopt = encode(Nvfp4Form::ModelOpt, values, 32);
  const Encoded compressed = encode(Nvfp4Form::CompressedTensors, values, 32);
  EXPECT_EQ(modelopt.tensor_scale, 1.0f / 4096);
  EXPECT_EQ(compressed.tensor_scale, 4096);
  EXPECT_EQ(decode(modelopt, false), decode(compressed, true));
}

TEST(Nvfp4, ErrorIsAtMostOneStep) {
  // A step is scale · g. Block scales here are normal e4m3 numbers, within 1/16 of largest / (6 g), so
  // quotients reach at most 6 · 16/15 = 6.4. Between 4 and 6 the nearest code is at most 1 away; beyond 6 it
  // is 0.4 at most.
  std::vector<float> values(128 * 128);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = uniform_float(5, 6, i) - 0.5f;
  const Encoded encoded = encode(Nvfp4Form::ModelOpt, values, 128);
  const std::vector<float> back = decode(encoded, false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float step = from_e4m3(encoded.scales[i / 16]) * encoded.tensor_scale;
    ASSERT_LE(std::fabs(values[i] - back[i]), step * 1.0001f) << i;  // float roundings of the quotient
  }
}

TEST(Nvfp4, ErrorsNameTheTensor) {
  std::vector<float> values(24);
  std::vector<std::uint8_t> codes(12), scales(2);
  const auto message = [&](const EncodeNvfp4Args& args) -> std::string {
    try {
      encode_nvfp4(args);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(
      message(
          {.rows = 1, .columns = 24, .values = values, .codes = codes, .scales = scales, .name = "a.weight"}),
      "tensor \"a.weight\": [1, 24] cannot be NVFP4; columns must be a multiple of 16");
  values.assign(16, 1);
  EXPECT_EQ(
      message(
          {.rows = 1, .columns = 16, .values = values, .codes = codes, .scales = scales, .name = "a.weight"}),
      "tensor \"a.weight\": 12 bytes for codes, expected 8");
  codes.resize(8);
  scales.resize(1);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      message(
          {.rows = 1, .columns = 16, .values = values, .codes = codes, .scales = scales, .name = "a.weight"}),
      "tensor \"a.weight\": element 3 is nan; only finite values can be quantised");
  values[3] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(
      message(
          {.rows = 1, .columns = 16, .values = values, .codes = codes, .scales = scales, .name = "a.weight"}),
      testing::HasSubstr("element 3 is -inf"));
}

}  // namespace
}  // namespace redline::quant
