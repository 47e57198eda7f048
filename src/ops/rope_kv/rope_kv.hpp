// Between the projections and attention: norms each query and key head, rotates the first `rotary` elements
// of each (halves paired: i with i + rotary / 2), and writes keys and values to their pages. The gate half of
// each query head is left where it is.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::rope_kv {

struct Args {
  TensorView query_gate;            // [rows, heads, 2 * head_dim]: per head, query then gate
  TensorView key, value;            // [rows, kv_heads, head_dim]
  TensorView query_norm, key_norm;  // [head_dim], zero-centred
  TensorView frequencies;           // [rotary / 2] F32: radians per position
  TensorView positions;             // [rows] I32: of the rotation
  TensorView row_begin;             // [sequences + 1] I32
  TensorView kv_lengths;  // [sequences] I32: tokens in the cache once these rows are in it; the rows are the
                          // last ones
  TensorView pages, page_begin;  // page ids of all sequences one after another I32; [sequences + 1] I32
  float epsilon = 1e-6f;
  float rotation_scale = 1;  // of cosines and sines: 0.1 ln(factor) + 1 under YaRN, else 1
  TensorView query;          // out [rows, heads, head_dim]
  TensorView kv;             // out [page_count, 2, kv_heads, page_tokens, head_dim]: keys, values
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::rope_kv
