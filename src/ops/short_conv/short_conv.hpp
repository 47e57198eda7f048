// Causal depthwise convolution of width 4 with carried inputs, then silu: y_t = silu(Σ_j weight[j] ·
// u_{t-3+j}); a fresh slot has zeros before its first row. fp32 sums.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"
#include "ops/ring.hpp"

namespace redline::ops::short_conv {

inline constexpr int kTaps = 4;

// Bytes of one slot of one layer: the last three inputs, then a ring of later ones.
std::size_t slot_bytes(std::int64_t channels, DType dtype);

struct Args {
  TensorView u;       // [rows, channels]
  TensorView weight;  // [channels, 4] (on disk [channels, 1, 4])
  TensorView state;   // [slot_count, slot bytes] U8, in and out; zero bytes are a fresh slot
  RingView ring;
  TensorView y;  // [rows, channels]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::short_conv
