// Widening by scheme; e4m3 and e2m1 through tables.
#include "ops/matmul/cpu/widen.hpp"

#include <array>
#include <cstring>

#include "core/error.hpp"
#include "core/numbers.hpp"

namespace redline::ops {
namespace {

constexpr std::array<float, 256> kE4m3 = [] {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code)
    table[static_cast<std::size_t>(code)] = from_e4m3(static_cast<std::uint8_t>(code));
  return table;
}();

constexpr std::array<float, 16> kE2m1 = [] {
  std::array<float, 16> table{};
  for (int code = 0; code < 16; ++code)
    table[static_cast<std::size_t>(code)] = from_e2m1(static_cast<std::uint8_t>(code));
  return table;
}();

float scale_at(DType dtype, const void* scales, std::int64_t i) {
  switch (dtype) {
    case DType::F32:
      return static_cast<const float*>(scales)[i];
    case DType::BF16:
      return from_bf16(static_cast<const std::uint16_t*>(scales)[i]);
    case DType::F16:
      return from_f16(static_cast<const std::uint16_t*>(scales)[i]);
    case DType::F8E4M3:
      return kE4m3[static_cast<const std::uint8_t*>(scales)[i]];
    default:
      fail(ErrorKind::Internal, "scales of type {} are not known", name_of(dtype));
  }
}

}  // namespace

void widen_row(const PackedWeight& weight, const WeightPart& part, std::int64_t row, float* out) {
  const std::int64_t in = weight.in;
  const quant::Scheme& scheme = weight.scheme;
  switch (scheme.element) {
    case DType::F32:
      std::memcpy(out, static_cast<const float*>(part.elements) + row * in, static_cast<std::size_t>(in) * 4);
      break;
    case DType::BF16: {
      const auto* from = static_cast<const std::uint16_t*>(part.elements) + row * in;
      for (std::int64_t k = 0; k < in; ++k) out[k] = from_bf16(from[k]);
      break;
    }
    case DType::F16: {
      const auto* from = static_cast<const std::uint16_t*>(part.elements) + row * in;
      for (std::int64_t k = 0; k < in; ++k) out[k] = from_f16(from[k]);
      break;
    }
    case DType::F8E4M3: {
      const auto* from = static_cast<const std::uint8_t*>(part.elements) + row * in;
      for (std::int64_t k = 0; k < in; ++k) out[k] = kE4m3[from[k]];
      break;
    }
    case DType::F4E2M1: {
      const auto* from = static_cast<const std::uint8_t*>(part.elements) + row * in / 2;
      for (std::int64_t k = 0; k < in; k += 2) {
        out[k] = kE2m1[from[k / 2] & 15];
        out[k + 1] = kE2m1[from[k / 2] >> 4];
      }
      break;
    }
    default:
      fail(ErrorKind::Internal, "weights of type {} are not known", name_of(scheme.element));
  }
  if (scheme.block_columns > 0) {
    const std::int64_t per_row = (in + scheme.block_columns - 1) / scheme.block_columns;
    const std::int64_t first = row / scheme.block_rows * per_row;
    for (std::int64_t k = 0; k < in; ++k)
      out[k] *= scale_at(*scheme.scale, part.scales, first + k / scheme.block_columns);
  } else if (scheme.channel_scale) {
    const float scale = scale_at(*scheme.scale, part.scales, row);
    for (std::int64_t k = 0; k < in; ++k) out[k] *= scale;
  }
}

}  // namespace redline::ops
