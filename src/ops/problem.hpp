// What an operator is asked to do, apart from its numbers: the key under which tuning results are stored and
// found.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace redline::ops {

// A readable key, "rows=4 in=2048 out=4096 weight=NVFP4": equal keys are the same problem to a candidate.
struct ProblemKey {
  std::string text;
  friend auto operator<=>(const ProblemKey&, const ProblemKey&) = default;
};

// Row counts fall into buckets, so that a tuning run is finite: 1, 2, 4, 8, …
constexpr int row_bucket(std::int64_t rows) {
  int bucket = 1;
  while (bucket < rows) bucket *= 2;
  return bucket;
}

// How far a candidate may be from the reference: |y - reference| <= absolute + relative · |reference|.
// Derived by each operator from reduction length, element types and the size of the inputs.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

}  // namespace redline::ops
