// Causal attention over paged keys and values, any number of rows for each sequence. Softmax in fp32; query
// head j reads KV head j / (heads / kv_heads). With `query_gate`, the output is multiplied by sigmoid(gate),
// gate being the second half of each head.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::attention {

struct Args {
  TensorView query;              // [rows, heads, head_dim]
  TensorView kv;                 // [page_count, 2, kv_heads, page_tokens, head_dim]
  TensorView row_begin;          // [sequences + 1] I32
  TensorView kv_lengths;         // [sequences] I32: row i of n sees kv_length - n + i + 1 tokens
  TensorView pages, page_begin;  // as in rope_kv
  TensorView query_gate;         // optional [rows, heads, 2 * head_dim]
  float scale = 0;               // head_dim^-0.5
  TensorView y;                  // [rows, heads, head_dim]
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::attention
