// How recurrent layers take guesses back (docs/recurrent-state.md). A slot is a state and a ring of the last
// rows. Rows of a decode or verify step go into the ring and the state is only read; accepting moves a count
// that all layers share, so a rejected guess is never copied back.
#pragma once

#include "core/tensor.hpp"

namespace redline::ops {

// Rows that a ring holds: 16 covers a verify step of 8 drafts and leaves a fold about every eighth step
// without drafts.
inline constexpr int kRingRows = 16;

// Which rows belong to which slot, for all recurrent layers of one step.
//   into_ring = 0 (prompts): valid ring rows are folded into the state first, then the rows go straight into
//   the state; the count becomes 0. into_ring = 1 (decode): if the valid rows and the new ones do not fit,
//   the valid ones are folded first and the new ones start the ring. The new rows lie behind the valid ones;
//   the caller then sets the count to (folded ? 0 : count) + rows that were accepted.
struct RingView {
  TensorView slots;      // [sequences] I32
  TensorView row_begin;  // [sequences + 1] I32
  TensorView counts;     // [slot_count] I32: valid ring rows of each slot before this step; read only here
  TensorView into_ring;  // [sequences] I32
};

// The count after a step of `rows` rows of which `accepted` are kept.
constexpr int ring_count_after(int count, int rows, int accepted) {
  return (count + rows > kRingRows ? 0 : count) + accepted;
}

}  // namespace redline::ops
