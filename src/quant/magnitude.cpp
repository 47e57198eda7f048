// A maximum over bit patterns: magnitudes of floats order as their bits do, and infinities and NaN lie above
// all others.
#include "quant/magnitude.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/error.hpp"

namespace redline::quant {

float largest_magnitude(std::span<const float> values, std::string_view name) {
  constexpr std::uint32_t kInfinity = 0x7f80'0000;
  std::uint32_t largest = 0;
  for (float value : values) largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fff'ffff);
  if (largest >= kInfinity) {
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) {
      return (std::bit_cast<std::uint32_t>(value) & kInfinity) == kInfinity;
    });
    fail(ErrorKind::BadInput, "tensor \"{}\": element {} is {}; only finite values can be quantised", name,
         bad - values.begin(), *bad);
  }
  return std::bit_cast<float>(largest);
}

}  // namespace redline::quant
