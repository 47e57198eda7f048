// Expert choice: softmax over all experts in fp32, the `choices` largest (ties: the lower id), renormalised.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::route {

struct Args {
  TensorView logits;   // [rows, experts] BF16 or F32
  TensorView experts;  // out [rows, choices] I32, largest first
  TensorView weights;  // out [rows, choices] F32, sum 1
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::route
