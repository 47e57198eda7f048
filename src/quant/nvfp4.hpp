// NVFP4: e2m1 codes, an e4m3 scale for 16 consecutive columns of a row, and one float for the whole tensor.
// Two published forms differ in that float alone: ModelOpt stores a multiplier (weight_scale_2),
// compressed-tensors its reciprocal (weight_global_scale). Both become one multiplier g here, and w = code ·
// scale · g. How the encoders of the two makers differ from each other and from ours:
// docs/decisions/0003-nvfp4-encoding.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace redline::quant {

constexpr std::int64_t kNvfp4Block = 16;  // columns under one block scale

enum class Nvfp4Form : std::uint8_t { ModelOpt, CompressedTensors };

// The multiplier g of a stored tensor scale. Rounded once for CompressedTensors; all that redline computes
// uses g.
float nvfp4_multiplier(float tensor_scale, bool divides);

// code · scale · g to float: code · scale is exact in float (in bf16 too: at most 6 significant bits, from
// 2^-10 to 2688), so each result is the exact product rounded once. With tensor_scale 1 results are exact.
struct DecodeNvfp4Args {
  std::int64_t rows = 0, columns = 0;
  std::span<const std::uint8_t> codes;   // [rows, columns / 2], low nibble = even column
  std::span<const std::uint8_t> scales;  // [rows, columns / 16], e4m3 codes
  float tensor_scale = 1;
  bool tensor_scale_divides = false;  // CompressedTensors
  std::span<float> out;               // [rows, columns]
  std::string_view name;              // for messages
};
void decode_nvfp4(const DecodeNvfp4Args& args);

// The tensor scale that the form's rule gives for a tensor whose largest magnitude is `largest`: largest /
// 2688, or 2688 / largest. 1 for a tensor of zeros, and for CompressedTensors also where the quotient is
// infinite.
float nvfp4_tensor_scale(Nvfp4Form form, float largest);

// Block scales and codes by the form's own rule, so that files look as their maker would have written them.
//   ModelOpt           scale = e4m3(largest of block / (6 g)), at least 2^-9; 1 for a block of zeros
//   CompressedTensors  scale = e4m3(global · (largest of block / 6)); 0.125 where that is zero
// and code = e2m1(w / (scale · g)) to nearest, ties to even, saturating; a zero of either sign has code 0.
struct EncodeNvfp4Args {
  Nvfp4Form form = Nvfp4Form::ModelOpt;
  std::int64_t rows = 0, columns = 0;  // columns: a multiple of 16
  std::span<const float> values;       // [rows, columns], finite
  // Weights that one product reads together (gate and up) share one; parts of a tensor that are encoded apart
  // need it.
  std::optional<float> tensor_scale = std::nullopt;
  std::span<std::uint8_t> codes;   // out: [rows, columns / 2]
  std::span<std::uint8_t> scales;  // out: [rows, columns / 16]
  std::string_view name;           // for messages
};
float encode_nvfp4(const EncodeNvfp4Args& args);  // the tensor scale used, in the form's sense

}  // namespace redline::quant
