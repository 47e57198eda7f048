// y = x · Wᵀ for every weight scheme. Activations are BF16 for all of them; sums are at least fp32; y is
// rounded once.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/matmul/packed_weight.hpp"
#include "ops/problem.hpp"

namespace redline::ops::matmul {

struct Args {
  TensorView x;  // [rows, in] BF16 (references also F32); rows may be strided, columns not
  const PackedWeight* weight = nullptr;  // [out, in], one matrix
  TensorView y;                          // [rows, out] BF16 or F32; rows may be strided
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::int64_t bytes(const Args& args);  // that must cross memory
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::matmul
