// From logits to token ids, on the device, one row at a time with its own settings. Order: penalties and bias, temperature, top-k, top-p,
// min-p, then one draw with the Philox number of (seed, position). Temperature 0 is the largest logit (ties: the lower id).
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::sample {

struct Args {
  TensorView logits;       // [rows, vocabulary_padded] BF16 or F32
  int vocabulary = 0;      // ids from here on are padding and never chosen
  // each [rows]:
  TensorView temperature;  // F32; 0: greedy
  TensorView top_k;        // I32; 0: off
  TensorView top_p;        // F32; 1: off
  TensorView min_p;        // F32; 0: off
  TensorView seed;         // I64, as unsigned
  TensorView position;     // I32
  // optional, all or none: how often each token was seen, for penalties
  TensorView counts;       // [rows, vocabulary] I32
  TensorView presence, frequency, repetition;  // [rows] F32; 0, 0, 1: off
  TensorView ids;          // out [rows] I32
  TensorView logprob;      // out, optional [rows] F32: of the chosen id under the softmax of the penalised logits at temperature 1
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::sample
