// Batches for the cases of operators that keep a slot and a ring.
#pragma once

#include <string>
#include <vector>

#include "ops/conformance.hpp"
#include "ops/ring.hpp"

namespace redline::ops {

struct RingSequence {
  int rows = 0, count = 0, into_ring = 0;
};

inline std::int64_t row_count(const std::vector<RingSequence>& sequences) {
  std::int64_t rows = 0;
  for (const RingSequence& one : sequences) rows += one.rows;
  return rows;
}

// Slots no sequence uses: they must stay as they are.
inline std::int64_t slot_count(const std::vector<RingSequence>& sequences) {
  return static_cast<std::int64_t>(sequences.size()) + 2;
}

// Slots are taken from the last but one downwards, so that neither order nor number is that of the sequences.
inline RingView make_ring(CaseBuilder& build, const std::vector<RingSequence>& sequences) {
  std::vector<std::int32_t> slots, row_begin{0}, into_ring,
      counts(static_cast<std::size_t>(slot_count(sequences)), 3);
  for (const RingSequence& one : sequences) {
    slots.push_back(static_cast<std::int32_t>(counts.size() - 2 - slots.size()));
    counts[static_cast<std::size_t>(slots.back())] = one.count;
    row_begin.push_back(row_begin.back() + one.rows);
    into_ring.push_back(one.into_ring);
  }
  return {.slots = build.integers(slots),
          .row_begin = build.integers(row_begin),
          .counts = build.integers(counts),
          .into_ring = build.integers(into_ring)};
}

inline std::string to_text(const std::vector<RingSequence>& sequences) {
  std::string text;
  for (const RingSequence& one : sequences) {
    text += (text.empty() ? "" : " ") + std::to_string(one.rows) + (one.into_ring != 0 ? "r" : "p") +
            std::to_string(one.count);
  }
  return text;
}

}  // namespace redline::ops
