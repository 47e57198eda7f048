// Elementwise gates: y = silu(a) · b, or y = sigmoid(a) · b.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::gate {

enum class Kind : std::uint8_t { SiluMul, SigmoidMul };

struct Args {
  Kind kind = Kind::SiluMul;
  TensorView a, b;  // [rows, width]; rows may be strided (two halves of one tensor)
  TensorView y;     // [rows, width]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::gate
