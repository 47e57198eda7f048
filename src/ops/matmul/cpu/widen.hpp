// One row of a plain weight as floats, without the part's multiplier: what portable CPU candidates compute
// with.
#pragma once

#include <cstdint>

#include "ops/matmul/packed_weight.hpp"

namespace redline::ops {

void widen_row(const PackedWeight& weight, const WeightPart& part, std::int64_t row,
               float* out);  // out: [in]

}  // namespace redline::ops
