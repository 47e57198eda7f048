// What the stored bits of a weight mean: element type, scales, and whether scales multiply or divide. One
// small struct describes every format the family is published in; "no scales" is a state of it. Sources:
// docs/formats.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/dtype.hpp"

namespace redline::quant {

// How people call the formats; what `inspect` prints. A Scheme maps to exactly one.
enum class Format : std::uint8_t { Bf16, F32, F16, Fp8Tensor, Fp8Channel, Fp8Block, Nvfp4 };

struct Scheme {
  DType element = DType::BF16;  // F4E2M1 for NVFP4 (two codes to a byte on disk, low nibble = even k)
  int block_rows = 0,
      block_columns = 0;              // elements under one block scale; 0, 0: not block-scaled. NVFP4: 1, 16
  std::optional<DType> scale;         // type of the block or channel scales
  bool channel_scale = false;         // one scale per row (FP8 per channel)
  bool tensor_scale = false;          // one F32 for the whole tensor
  bool tensor_scale_divides = false;  // compressed-tensors: w = code · scale / global
  friend bool operator==(const Scheme&, const Scheme&) = default;
};

Format format_of(const Scheme& scheme);
const char* name_of(Format format);  // "BF16", "FP8 per tensor", "FP8 per channel", "FP8 128x128", "NVFP4", …

// Each kind of weight that is published, with a name: what tests and benchmarks walk through.
struct NamedScheme {
  const char* name;
  Scheme scheme;
};
std::span<const NamedScheme> every_scheme();

// Bytes of an [rows, columns] weight with all its scales.
std::int64_t bytes_of(const Scheme& scheme, std::int64_t rows, std::int64_t columns);

}  // namespace redline::quant
