// Draws the token of each row of logits of one sequence: keeps the counts that penalties need and the small
// inputs of the sample operator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "ops/exec.hpp"
#include "runtime/request.hpp"

namespace redline::runtime {

class RowSampler {
 public:
  RowSampler(Device& device, const Sampling& sampling, std::int64_t vocabulary);

  // Row r of `logits` [rows, …] predicts the token of position `position` + r. Row r's penalties count the
  // tokens taken so far and `guesses`[0 … r). The ids stay valid until the next call.
  std::span<const std::int32_t> draw(ops::Exec exec, const TensorView& logits, std::int64_t position,
                                     std::span<const std::int32_t> guesses = {});
  // The most likely id of each row, whatever the sampling: what a draft head guesses.
  std::span<const std::int32_t> most_likely(ops::Exec exec, const TensorView& logits);
  void took(std::int32_t token);  // it stands in the answer

 private:
  bool penalises() const;

  Sampling sampling_;
  std::int64_t vocabulary_;
  Buffer inputs_, counts_, ids_;
  std::vector<std::int32_t> seen_;  // [vocabulary], only with penalties
};

}  // namespace redline::runtime
