// The largest magnitude of a tensor, from which every scale is derived, with the check that its values are
// finite.
#pragma once

#include <span>
#include <string_view>

namespace redline::quant {

// Throws Error(BadInput) naming the tensor and the first element that is infinite or not a number. 0 for no
// values.
float largest_magnitude(std::span<const float> values, std::string_view name);

}  // namespace redline::quant
