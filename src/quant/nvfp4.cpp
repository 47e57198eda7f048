// The order of float operations below is the makers' own: with the tensor scale given, scales and codes equal
// theirs bit for bit (tests/quant/quant_golden_test.cpp).
#include "quant/nvfp4.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "quant/magnitude.hpp"

namespace redline::quant {
namespace {

constexpr float kLargestCode = 6, kLargestScale = 448;

// What one tensor scale means to a block.
struct Encoder {
  Nvfp4Form form;
  float tensor_scale;

  std::uint8_t block_scale(float largest) const {
    if (form == Nvfp4Form::ModelOpt) {
      constexpr float kSmallestScale = 0x1p-9f;  // below it e4m3 has zero only, and the block would be lost
      const float wanted = largest / (kLargestCode * tensor_scale);
      if (!(wanted > 0)) return to_e4m3(1);  // zeros, or a tensor scale of zero as well
      return to_e4m3(std::clamp(wanted, kSmallestScale, kLargestScale));
    }
    const std::uint8_t code = to_e4m3(tensor_scale * (largest / kLargestCode));
    return code != 0 ? code : to_e4m3(0.125f);
  }

  // What a code of 1 stands for under a block scale.
  float step(std::uint8_t block_scale) const {
    const float scale = from_e4m3(block_scale);
    return form == Nvfp4Form::ModelOpt ? scale * tensor_scale : scale / tensor_scale;
  }
};

// The codes of one block. Without branches, so that compilers take several values at a time; to_e2m1's
// rounding is spelled out as the seven places where the code changes, ties going to the even one of two
// neighbours.
void encode_block(std::span<const float> values, float step, std::span<std::uint8_t> codes) {
  constexpr std::size_t kValues = kNvfp4Block;
  std::array<std::uint32_t, kValues> found;
  for (std::size_t i = 0; i < kValues; ++i) {
    const float quotient =
        values[i] / step + 0.0f;  // -0 + 0 is +0: a quotient that underflows has code 0 too
    const float m = std::fabs(quotient);
    const std::uint32_t magnitude =
        static_cast<std::uint32_t>(m > 0.25f) + static_cast<std::uint32_t>(m >= 0.75f) +
        static_cast<std::uint32_t>(m > 1.25f) + static_cast<std::uint32_t>(m >= 1.75f) +
        static_cast<std::uint32_t>(m > 2.5f) + static_cast<std::uint32_t>(m >= 3.5f) +
        static_cast<std::uint32_t>(m > 5.0f);
    found[i] = magnitude | (std::bit_cast<std::uint32_t>(quotient) >> 28 & 8);
  }
  for (std::size_t i = 0; i < kValues / 2; ++i) {
    codes[i] = static_cast<std::uint8_t>(found[2 * i] | found[2 * i + 1] << 4);
  }
}

void check_columns(std::int64_t rows, std::int64_t columns, std::string_view name) {
  ensure(rows >= 0 && columns >= 0 && columns % kNvfp4Block == 0, ErrorKind::BadInput,
         "tensor \"{}\": [{}, {}] cannot be NVFP4; columns must be a multiple of {}", name, rows, columns,
         kNvfp4Block);
}

void check_size(std::string_view name, std::string_view what, std::size_t found, std::int64_t expected) {
  ensure(found == static_cast<std::size_t>(expected), ErrorKind::BadInput,
         "tensor \"{}\": {} {}, expected {}", name, found, what, expected);
}

}  // namespace

float nvfp4_multiplier(float tensor_scale, bool divides) { return divides ? 1 / tensor_scale : tensor_scale; }

void decode_nvfp4(const DecodeNvfp4Args& args) {
  check_columns(args.rows, args.columns, args.name);
  const std::int64_t elements = args.rows * args.columns;
  check_size(args.name, "bytes of codes", args.codes.size(), elements / 2);
  check_size(args.name, "block scales", args.scales.size(), elements / kNvfp4Block);
  check_size(args.name, "places for results", args.out.size(), elements);
  const float multiplier = nvfp4_multiplier(args.tensor_scale, args.tensor_scale_divides);
  // A block's sixteen possible values, then one look-up per element. Blocks do not cross rows, so rows need
  // no loop.
  constexpr std::size_t kBytes = kNvfp4Block / 2;
  for (std::size_t block = 0; block < args.scales.size(); ++block) {
    const float scale = from_e4m3(args.scales[block]);
    std::array<float, 16> values;
    for (std::uint8_t code = 0; code < 16; ++code) values[code] = from_e2m1(code) * scale * multiplier;
    const auto codes = args.codes.subspan(block * kBytes, kBytes);
    const auto out = args.out.subspan(block * kNvfp4Block, kNvfp4Block);
    for (std::size_t i = 0; i < kBytes; ++i) {
      out[2 * i] = values[codes[i] & 15];
      out[2 * i + 1] = values[codes[i] >> 4];
    }
  }
}

float nvfp4_tensor_scale(Nvfp4Form form, float largest) {
  if (largest == 0) return 1;
  if (form == Nvfp4Form::ModelOpt) return largest / (kLargestCode * kLargestScale);
  const float global = kLargestCode * kLargestScale / largest;
  return std::isfinite(global) ? global : 1;
}

float encode_nvfp4(const EncodeNvfp4Args& args) {
  check_columns(args.rows, args.columns, args.name);
  const std::int64_t elements = args.rows * args.columns;
  check_size(args.name, "values", args.values.size(), elements);
  check_size(args.name, "bytes for codes", args.codes.size(), elements / 2);
  check_size(args.name, "places for block scales", args.scales.size(), elements / kNvfp4Block);
  const float largest =
      largest_magnitude(args.values, args.name);  // also where the scale is given: checks the values
  const Encoder encoder{args.form, args.tensor_scale.value_or(nvfp4_tensor_scale(args.form, largest))};
  ensure(std::isfinite(encoder.tensor_scale) && encoder.tensor_scale >= 0, ErrorKind::BadInput,
         "tensor \"{}\": tensor scale {}, expected a finite number that is not negative", args.name,
         encoder.tensor_scale);
  constexpr std::size_t kBytes = kNvfp4Block / 2;
  for (std::size_t block = 0; block < args.scales.size(); ++block) {
    const auto values = args.values.subspan(block * kNvfp4Block, kNvfp4Block);
    float largest_of_block = 0;
    for (float value : values) largest_of_block = std::max(largest_of_block, std::fabs(value));
    const std::uint8_t scale = encoder.block_scale(largest_of_block);
    const float step = encoder.step(scale);
    args.scales[block] = scale;
    const auto codes = args.codes.subspan(block * kBytes, kBytes);
    if (step == 0) {  // values near the end of float's range; what lies under such a step is lost
      std::fill(codes.begin(), codes.end(), std::uint8_t{0});
    } else {
      encode_block(values, step, codes);
    }
  }
  return encoder.tensor_scale;
}

}  // namespace redline::quant
