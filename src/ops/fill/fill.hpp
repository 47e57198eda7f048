// Random weights of any scheme, for synthetic models: variance 1 / in with scales included, so that
// activations stay finite through all layers.
//
// Every number depends on (seed, part, place) alone, so any device and any number of threads writes the same
// bytes:
//   floats and FP8 elements  word i = random_bits(seed, part, i); the sum of its four bytes, less 510, over
//   √21845, which has mean 0, variance 1 and is close to normal NVFP4 codes              eight codes from
//   each word: all sixteen are equally likely; their mean square is 8.5625 block and channel scales word j =
//   random_bits(seed, 2^32 + part, j); F32 and BF16: base · (0.75 + u / 2), u uniform; E4M3: (1 + m / 8), m
//   its lowest three bits a part's own scalar      what makes the variance 1 / in
#pragma once

#include <cstdint>

#include "ops/exec.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::ops::fill {

// Writes all parts of a weight whose memory is owned, and their multipliers.
void weight(Exec& exec, PackedWeight& weight, std::uint64_t seed);
// Numbers of this standard deviation around `mean`; dense F32, BF16 or F16.
void tensor(Exec& exec, const TensorView& tensor, double mean, double deviation, std::uint64_t seed);

}  // namespace redline::ops::fill
