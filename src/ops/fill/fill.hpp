// Random weights of any scheme, for synthetic models: variance 1 / in with scales included, so that activations stay finite through all layers.
#pragma once

#include <cstdint>

#include "ops/exec.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::ops::fill {

// Writes all parts of a weight whose memory is owned. The same seed gives the same bytes on every device and thread count.
void weight(Exec& exec, PackedWeight& weight, std::uint64_t seed);
// Normal numbers of this standard deviation around `mean`.
void tensor(Exec& exec, const TensorView& tensor, double mean, double deviation, std::uint64_t seed);

}  // namespace redline::ops::fill
