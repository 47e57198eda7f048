// A BF16 weight into one of the formats that `quantize` writes, in tiles spread over threads, with the sums
// from which the error is reported. The codecs (nvfp4.hpp, fp8.hpp) do the arithmetic: what comes out does
// not depend on tiles or threads, nor do the sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/threads.hpp"
#include "quant/scheme.hpp"

namespace redline::quant {

// Sums over encoded weights: w as it was, d as it will be decoded.
struct EncodingError {
  std::int64_t weights = 0;
  double difference = 0;  // Σ (w − d)²
  double original = 0;    // Σ w²
  double decoded = 0;     // Σ d²
  double product = 0;     // Σ w d

  void add(const EncodingError& more);
  double relative() const;  // √(Σ (w − d)² / Σ w²); 0 where all weights are zero
  double cosine() const;    // Σ w d / √(Σ w² Σ d²); 1 where all weights are zero
  friend bool operator==(const EncodingError&, const EncodingError&) = default;
};

// The largest magnitude of BF16 values at any address. Throws Error(BadInput) naming the tensor where one is
// infinite or not a number.
float largest_bf16(ThreadPool& pool, std::span<const std::byte> values, std::string_view name);

// The scalar of a whole tensor that the format's rule gives: weight_scale_2 of NVFP4, weight_scale of FP8 per
// tensor; 1 for FP8 128x128, which has none.
float tensor_scale_of(Format format, float largest);

struct EncodeWeightArgs {
  Format format = Format::Nvfp4;  // Nvfp4, Fp8Tensor, Fp8Block
  std::int64_t rows = 0,
               columns = 0;  // of this part of the weight; Fp8Block: whole blocks, but for the last part
  std::span<const std::byte> values;  // [rows, columns], BF16 at any address
  float tensor_scale = 1;             // tensor_scale_of the whole tensor, or of several that share one
  std::span<std::uint8_t> codes;      // out: [rows, columns]; Nvfp4: [rows, columns / 2]
  std::span<std::byte> scales;        // out: Nvfp4 [rows, columns / 16] e4m3; Fp8Block BF16; Fp8Tensor: empty
  std::string_view name;              // for messages
};
EncodingError encode_weight(ThreadPool& pool, const EncodeWeightArgs& args);

}  // namespace redline::quant
