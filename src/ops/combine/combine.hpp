// What a mixture-of-experts block adds to the residual: the weighted sum of the chosen experts, and the gated
// shared expert. y = Σ_c weights[c] · routed[c] + sigmoid(shared_gate) · shared.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::combine {

struct Args {
  TensorView routed;       // [rows * choices, width]
  TensorView weights;      // [rows, choices] F32
  TensorView shared;       // optional [rows, width]
  TensorView shared_gate;  // [rows, 1] raw, with shared
  TensorView y;            // [rows, width]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::combine
