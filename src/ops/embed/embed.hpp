// Rows of the token table: y[r] = table[tokens[r]].
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::embed {

struct Args {
  TensorView tokens;  // [rows] I32, within the table
  TensorView table;   // [vocabulary, hidden] BF16
  TensorView y;       // [rows, hidden]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::embed
