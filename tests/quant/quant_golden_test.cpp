// Our codecs against what torch, nvidia-modelopt and compressed-tensors did with the same bits
// (tests/golden/quant/*.json, made by tools/golden/quant_vectors.py; versions and seed stand in the files).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/numbers.hpp"
#include "quant/fp8.hpp"
#include "quant/nvfp4.hpp"
#include "support/paths.hpp"

namespace redline::quant {
namespace {

using Json = nlohmann::json;

Json golden(const std::string& name) {
  std::ifstream file(test::golden_dir() / "quant" / name);
  return Json::parse(file);
}

template <class Number>
std::vector<Number> numbers_of(const Json& hex) {
  const auto text = hex.get<std::string>();
  constexpr std::size_t kDigits = sizeof(Number) * 2;
  std::vector<Number> numbers;
  for (std::size_t i = 0; i < text.size(); i += kDigits) {
    numbers.push_back(static_cast<Number>(std::stoul(text.substr(i, kDigits), nullptr, 16)));
  }
  return numbers;
}

std::vector<float> floats_of(const Json& hex) {
  std::vector<float> floats;
  for (std::uint32_t bits : numbers_of<std::uint32_t>(hex)) floats.push_back(std::bit_cast<float>(bits));
  return floats;
}

// The cast is monotone, so where each code begins says what happens to every float.
void expect_thresholds(const Json& cast, std::size_t codes,
                       const std::function<std::uint8_t(float)>& encode) {
  const std::vector<float> first = floats_of(cast["first_float_of_code"]);
  ASSERT_EQ(first.size(), codes - 1);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(i + 1);
    EXPECT_EQ(encode(first[i]), code) << cast["by"] << " " << first[i];
    EXPECT_EQ(encode(std::nextafter(first[i], 0.0f)), code - 1) << cast["by"] << " below " << first[i];
  }
}

TEST(QuantGolden, Casts) {
  const Json casts = golden("casts.json");
  expect_thresholds(casts["e4m3"], 127, to_e4m3);
  ASSERT_EQ(casts["e2m1"].size(), 2u);
  for (const Json& cast : casts["e2m1"]) expect_thresholds(cast, 8, to_e2m1);
  const std::vector<float> e4m3_values = floats_of(casts["e4m3_values"]);
  std::size_t at = 0;
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(from_e4m3(static_cast<std::uint8_t>(code))),
              std::bit_cast<std::uint32_t>(e4m3_values.at(at++)));
  }
  EXPECT_EQ(at, e4m3_values.size());
  const std::vector<float> floats = floats_of(casts["floats"]);
  const auto f16 = numbers_of<std::uint16_t>(casts["f16"]), bf16 = numbers_of<std::uint16_t>(casts["bf16"]);
  ASSERT_GT(floats.size(), 1000u);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(to_f16(floats[i]), f16.at(i)) << floats[i];
    EXPECT_EQ(to_bf16(floats[i]), bf16.at(i)) << floats[i];
  }
}

// The makers multiply code by (scale · tensor scale, rounded) or (scale / global, rounded): two roundings
// where we have one (two for compressed-tensors: 1 / global). So the results lie within four half steps, 4 ·
// 2^-24, of each other.
void expect_decoded(const std::vector<float>& ours, const std::vector<float>& theirs,
                    const std::string& name) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(ours[i]) - theirs[i]),
              std::fabs(static_cast<double>(theirs[i])) * 4 * 0x1p-24)
        << name << " element " << i << ": " << ours[i] << " and " << theirs[i];
  }
}

void run_nvfp4(const Json& maker, Nvfp4Form form) {
  int cases = 0;
  for (const Json& item : maker["cases"]) {
    const std::string name = item["name"].get<std::string>() + " of " + maker["by"].get<std::string>();
    const std::int64_t rows = item["rows"], columns = item["columns"];
    const std::vector<float> values = floats_of(item["values"]);
    const float tensor_scale = floats_of(item["tensor_scale"]).at(0);
    const auto scales = numbers_of<std::uint8_t>(item["scales"]),
               codes = numbers_of<std::uint8_t>(item["codes"]);
    std::vector<std::uint8_t> our_codes(codes.size()), our_scales(scales.size());
    const auto encode = [&](std::optional<float> given) {
      return encode_nvfp4({.form = form,
                           .rows = rows,
                           .columns = columns,
                           .values = values,
                           .tensor_scale = given,
                           .codes = our_codes,
                           .scales = our_scales,
                           .name = name});
    };
    encode(tensor_scale);
    EXPECT_EQ(our_scales, scales) << name;
    EXPECT_EQ(our_codes, codes) << name;
    if (!item["given"].get<bool>()) {
      const float ours = encode({});
      if (form == Nvfp4Form::ModelOpt) {
        EXPECT_EQ(ours, tensor_scale) << name;
      } else {
        // Theirs is 2688 · (1 / largest): docs/decisions/0003-nvfp4-encoding.md.
        EXPECT_LE(std::fabs(ours - tensor_scale), tensor_scale * 0x1p-22f) << name;
      }
    }
    std::vector<float> decoded(values.size());
    decode_nvfp4({.rows = rows,
                  .columns = columns,
                  .codes = codes,
                  .scales = scales,
                  .tensor_scale = tensor_scale,
                  .tensor_scale_divides = form == Nvfp4Form::CompressedTensors,
                  .out = decoded,
                  .name = name});
    expect_decoded(decoded, floats_of(item["decoded"]), name);
    ++cases;
  }
  EXPECT_GE(cases, 8);
}

TEST(QuantGolden, Nvfp4OfModelOpt) {
  const Json file = golden("nvfp4.json");
  run_nvfp4(file["modelopt"], Nvfp4Form::ModelOpt);
}

TEST(QuantGolden, Nvfp4OfCompressedTensors) {
  const Json file = golden("nvfp4.json");
  run_nvfp4(file["compressed_tensors"], Nvfp4Form::CompressedTensors);
}

TEST(QuantGolden, Fp8) {
  int cases = 0;
  const Json file = golden("fp8.json");
  for (const Json& item : file["cases"]) {
    const std::string kind = item["kind"];
    const std::string name =
        kind + " " + item["name"].get<std::string>() + " of " + item["by"].get<std::string>();
    const std::int64_t rows = item["rows"], columns = item["columns"];
    const Fp8Blocks blocks = kind == "tensor"    ? Fp8Blocks::per_tensor(rows, columns)
                             : kind == "channel" ? Fp8Blocks::per_channel(rows, columns)
                                                 : Fp8Blocks::of_128(rows, columns);
    std::vector<float> values;
    for (std::uint16_t code : numbers_of<std::uint16_t>(item["values"])) values.push_back(from_bf16(code));
    const std::vector<float> scales = floats_of(item["scales"]);
    ASSERT_EQ(static_cast<std::int64_t>(scales.size()), blocks.scales()) << name;
    const auto codes = numbers_of<std::uint8_t>(item["codes"]);
    std::vector<std::uint8_t> our_codes(codes.size());
    std::vector<float> our_scales(scales.size()), decoded(values.size());
    encode_fp8({.blocks = blocks,
                .values = values,
                .codes = our_codes,
                .scales = std::as_writable_bytes(std::span(our_scales)),
                .name = name});
    EXPECT_EQ(our_scales, scales) << name;
    EXPECT_EQ(our_codes, codes) << name;
    decode_fp8({.blocks = blocks,
                .codes = codes,
                .scales = std::as_bytes(std::span(scales)),
                .out = decoded,
                .name = name});
    EXPECT_EQ(decoded, floats_of(item["decoded"])) << name;
    ++cases;
  }
  EXPECT_EQ(cases, 12);
}

}  // namespace
}  // namespace redline::quant
