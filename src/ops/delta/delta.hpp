// The gated delta rule. Per value head, state S [key, value] in fp32: S ← e^g S; δ = β (v − Sᵀk); S ← S + k
// δᵀ; o = Sᵀq, with β = sigmoid(b), g = −exp(A_log) · softplus(a + dt_bias), q and k L2-normalised (epsilon
// 1e-6 in the root), q scaled by key_dim^-0.5. Value head h reads key head h / (value_heads / key_heads).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"
#include "ops/ring.hpp"

namespace redline::ops::delta {

// One slot of one layer, in floats. The ring keeps what the state would be without another pass over it:
// after row j of the ring,
//   S = e^(G_j) S_0 + sum over i <= j of e^(G_j - G_i) k_i u_i^T,   G_j = g_0 + ... + g_j,   u_i the
//   correction that row i added.
struct SlotLayout {
  std::int64_t state = 0;        // [value_heads, key_dim, value_dim]
  std::int64_t keys = 0;         // [kRingRows, key_heads, key_dim], normalised
  std::int64_t corrections = 0;  // [kRingRows, value_heads, value_dim]
  std::int64_t decays = 0;       // [kRingRows, value_heads]: G
  std::int64_t end = 0;
};
constexpr SlotLayout slot_layout(std::int64_t key_heads, std::int64_t value_heads, std::int64_t key_dim,
                                 std::int64_t value_dim) {
  SlotLayout layout;
  layout.keys = value_heads * key_dim * value_dim;
  layout.corrections = layout.keys + kRingRows * key_heads * key_dim;
  layout.decays = layout.corrections + kRingRows * value_heads * value_dim;
  layout.end = layout.decays + kRingRows * value_heads;
  return layout;
}

std::size_t slot_bytes(int key_heads, int value_heads, int key_dim, int value_dim);

struct Args {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  TensorView qkv;        // [rows, 2 * key_heads * key_dim + value_heads * value_dim] after the convolution
  TensorView a, b;       // [rows, value_heads]
  TensorView decay_log;  // [value_heads] F32 or BF16: A_log
  TensorView time_bias;  // [value_heads]: dt_bias
  TensorView state;      // [slot_count, slot bytes] U8, in and out; zero bytes are a fresh slot
  RingView ring;
  TensorView y;  // [rows, value_heads, value_dim]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::delta
