// The chosen experts of each row: y[r, c] = x · W[experts[r, c]]ᵀ.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/matmul/packed_weight.hpp"
#include "ops/problem.hpp"

namespace redline::ops::grouped_matmul {

struct Args {
  TensorView x;        // [rows, in], shared by the choices of a row, or [rows * choices, in]
  TensorView experts;  // [rows, choices] I32
  const PackedWeight* weight = nullptr;  // matrices = experts, each [out, in]
  TensorView y;                          // [rows * choices, out]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::grouped_matmul
