// Formats and sizes of schemes.
#include "quant/scheme.hpp"

#include "core/error.hpp"

namespace redline::quant {

Format format_of(const Scheme& scheme) {
  switch (scheme.element) {
    case DType::BF16:
      return Format::Bf16;
    case DType::F32:
      return Format::F32;
    case DType::F16:
      return Format::F16;
    case DType::F4E2M1:
      return Format::Nvfp4;
    case DType::F8E4M3:
      if (scheme.block_columns > 0) return Format::Fp8Block;
      return scheme.channel_scale ? Format::Fp8Channel : Format::Fp8Tensor;
    default:
      break;
  }
  fail(ErrorKind::Internal, "no weight format has elements of type {}", name_of(scheme.element));
}

const char* name_of(Format format) {
  switch (format) {
    case Format::Bf16:
      return "BF16";
    case Format::F32:
      return "F32";
    case Format::F16:
      return "F16";
    case Format::Fp8Tensor:
      return "FP8 per tensor";
    case Format::Fp8Channel:
      return "FP8 per channel";
    case Format::Fp8Block:
      return "FP8 128x128";
    case Format::Nvfp4:
      return "NVFP4";
  }
  return "?";
}

std::span<const NamedScheme> every_scheme() {
  static constexpr NamedScheme kAll[] = {
      {"BF16", {}},
      {"F32", {.element = DType::F32}},
      {"FP8 per tensor", {.element = DType::F8E4M3, .tensor_scale = true}},
      {"FP8 per channel", {.element = DType::F8E4M3, .scale = DType::BF16, .channel_scale = true}},
      {"FP8 128x128, BF16 scales",
       {.element = DType::F8E4M3, .block_rows = 128, .block_columns = 128, .scale = DType::BF16}},
      {"FP8 128x128, F32 scales",
       {.element = DType::F8E4M3, .block_rows = 128, .block_columns = 128, .scale = DType::F32}},
      {"NVFP4",
       {.element = DType::F4E2M1,
        .block_rows = 1,
        .block_columns = 16,
        .scale = DType::F8E4M3,
        .tensor_scale = true}}};
  return kAll;
}

std::int64_t bytes_of(const Scheme& scheme, std::int64_t rows, std::int64_t columns) {
  std::int64_t bytes = (rows * columns * bits_of(scheme.element) + 7) / 8;
  const std::int64_t scale_bytes = scheme.scale ? bits_of(*scheme.scale) / 8 : 0;
  if (scheme.block_columns > 0) {
    bytes += (rows + scheme.block_rows - 1) / scheme.block_rows *
             ((columns + scheme.block_columns - 1) / scheme.block_columns) * scale_bytes;
  }
  if (scheme.channel_scale) bytes += rows * scale_bytes;
  if (scheme.tensor_scale) bytes += 4;
  return bytes;
}

}  // namespace redline::quant
