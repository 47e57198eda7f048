// Host conversions between float and the narrow formats of the family: bf16, f16, e4m3 (the "fn" kind) and
// e2m1. All are constexpr, exact when widening, and round to nearest, ties to even, when narrowing. GPU code
// has its own conversions; tests/core/numbers_gpu_test.cu holds the two against each other.
//
//          bits s.e.m   largest   smallest > 0   beyond the largest     NaN becomes
//   bf16   1.8.7        3.39e38   2^-133         infinity               quiet NaN, sign and upper payload
//   kept f16    1.5.10       65504     2^-24          infinity               quiet NaN, sign and upper
//   payload kept e4m3   1.4.3        448       2^-9           448, also infinities   0x7f or 0xff, sign kept
//   (there is no infinity) e2m1   1.2.1        6         0.5            6, also infinities     +6, code 7
//   (there is no NaN; GPUs do the same)
//
// Zeros keep their sign, and so do values that round to zero.
#pragma once

#include <bit>
#include <cstdint>

namespace redline {
namespace numbers_detail {

inline constexpr std::uint32_t kFloatInfinity = 0x7f80'0000;

// bits / 2^shift, to nearest, ties to even. A shift past 25 rounds every 24-bit significand to zero, as 25
// does.
constexpr std::uint32_t shift_to_nearest(std::uint32_t bits, int shift) {
  if (shift > 25) shift = 25;
  const std::uint32_t half = (1u << (shift - 1)) - 1;
  return (bits + half + ((bits >> shift) & 1)) >> shift;
}

// The code, without sign and without an upper limit, of a magnitude that is not NaN in a format with this
// many mantissa bits whose smallest normal number is 2^smallest_normal. Codes of one sign count up as values
// do, so a carry out of the mantissa lands in the exponent by itself.
constexpr std::uint32_t code_of(std::uint32_t magnitude, int mantissa_bits, int smallest_normal) {
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent >= smallest_normal) {
    const auto bias_difference = static_cast<std::uint32_t>(smallest_normal + 126) << 23;
    return shift_to_nearest(magnitude - bias_difference, 23 - mantissa_bits);
  }
  const std::uint32_t significand = (magnitude & 0x7f'ffff) | 0x80'0000;
  return shift_to_nearest(significand, 23 - mantissa_bits + smallest_normal - exponent);
}

}  // namespace numbers_detail

constexpr float from_bf16(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

constexpr std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffff) > numbers_detail::kFloatInfinity) {
    return static_cast<std::uint16_t>((bits >> 16) |
                                      0x40);  // a payload in the lower half alone must not become infinity
  }
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

constexpr float from_f16(std::uint16_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x8000) << 16;
  const std::uint32_t exponent = (code >> 10) & 31;
  const std::uint32_t mantissa = code & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | numbers_detail::kFloatInfinity | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

constexpr std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  if (magnitude > numbers_detail::kFloatInfinity) {
    return static_cast<std::uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
  }
  const std::uint32_t code = numbers_detail::code_of(magnitude, 10, -14);
  return static_cast<std::uint16_t>(sign | (code < 0x7c00 ? code : 0x7c00));
}

constexpr float from_e4m3(std::uint8_t code) {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80) << 24;
  const std::uint32_t exponent = (code >> 3) & 15;
  const std::uint32_t mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc0'0000);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 120) << 23 | mantissa << 20);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
  return sign != 0 ? -magnitude : magnitude;
}

constexpr std::uint8_t to_e4m3(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80;
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  if (magnitude > numbers_detail::kFloatInfinity) return static_cast<std::uint8_t>(sign | 0x7f);
  const std::uint32_t code = numbers_detail::code_of(magnitude, 3, -6);
  return static_cast<std::uint8_t>(sign | (code < 0x7e ? code : 0x7e));
}

// The code is the low four bits.
constexpr float from_e2m1(std::uint8_t code) {
  constexpr float kMagnitudes[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const float magnitude = kMagnitudes[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

constexpr std::uint8_t to_e2m1(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  if (magnitude > numbers_detail::kFloatInfinity) return 7;
  const std::uint32_t code = numbers_detail::code_of(magnitude, 1, 0);
  return static_cast<std::uint8_t>((bits >> 28 & 8) | (code < 7 ? code : 7));
}

}  // namespace redline
