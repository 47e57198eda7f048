// RMS norm of rows, with what usually stands around it: a residual sum before, a gate after.
// In fp32: n = x · rsqrt(mean(x²) + epsilon); zero-centred weights multiply by (1 + w), plain ones by w
// (spec: family norms are zero-centred, the norm inside delta-net is plain). Rows may be parts of wider rows
// (a head at a time).
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::norm {

struct Args {
  TensorView x;       // [rows, groups, width] each group is normed by itself; groups is 1 for whole rows
  TensorView weight;  // [width] BF16 or F32
  TensorView y;       // [rows, groups, width]
  float epsilon = 1e-6f;
  bool zero_centred = true;
  TensorView
      residual;     // optional [rows, groups, width], in and out: residual += x, and the norm is of the sum
  TensorView gate;  // optional [rows, groups, width]: y = norm · silu(gate)
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::norm
