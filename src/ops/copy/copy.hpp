// Whole slots or pages from place to place: to[to_index[i]] = from[from_index[i]].
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::copy {

struct Args {
  TensorView from, to;              // [count, bytes] U8
  TensorView from_index, to_index;  // [n] I32; targets are distinct, and none is also a source
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::copy
