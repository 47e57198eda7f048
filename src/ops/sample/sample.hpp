// From logits to token ids, on the device, one row at a time with its own settings. Temperature 0 is the
// largest logit (ties: the lower id). Else, in this order:
//   penalties   of a token seen c > 0 times: its logit is divided by `repetition` if positive, multiplied if
//   not; then frequency · c and presence are taken off temperature p = softmax(logit / temperature) over the
//   ids that are not padding top-k       the k most likely (ties: lower ids first) top-p       the fewest
//   most likely ones whose part of what is left reaches top_p, at least one min-p       those at least min_p
//   times as likely as the likeliest draw        u = uniform_float(seed, position, 0) of core/philox.hpp; in
//   the order of ids, the first kept one at which the sum of probabilities exceeds u times that
//               of all kept ones
// A logit that is NaN counts as -∞. A row whose largest logit is not finite gives id 0: the caller looks for
// such rows elsewhere, and nothing hangs or leaves its bounds here.
#pragma once

#include <array>
#include <span>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/conformance.hpp"
#include "ops/problem.hpp"

namespace redline::ops::sample {

struct Args {
  TensorView logits;   // [rows, vocabulary_padded] F32
  int vocabulary = 0;  // ids from here on are padding and never chosen
  // each [rows]:
  TensorView temperature;  // F32; 0: greedy
  TensorView top_k;        // I32; 0: off
  TensorView top_p;        // F32; 1: off
  TensorView min_p;        // F32; 0: off
  TensorView seed;         // I64, as unsigned
  TensorView position;     // I32
  // optional, all or none: how often each token was seen, for penalties
  TensorView counts;                           // [rows, vocabulary] I32
  TensorView presence, frequency, repetition;  // [rows] F32; 0, 0, 1: off
  TensorView ids;                              // out [rows] I32
};

void run(Exec& exec, const Args& args);
void reference(const Args& args);  // host tensors of any float type, sums in double
ProblemKey key(const Args& args);
Tolerance tolerance(const Args& args);
std::span<const Entry<Args>> candidates();
std::vector<Case<Args>> cases();

}  // namespace redline::ops::sample
