// Rows shared out among a CPU's threads, unless there is too little to do. For portable candidates; those of
// a CPU level must not include standard headers' templates lightly, and this pulls in few.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cpu/cpu_device.hpp"
#include "ops/exec.hpp"

namespace redline::ops {
namespace {

// Waking the pool costs some ten microseconds, in which one core does about this many elements of a row
// operator.
constexpr std::int64_t kInlineElements = 65536;

// body(begin, end) for parts of [0, rows).
template <class Body>
inline void for_rows(Exec& exec, std::int64_t rows, std::int64_t elements_per_row, Body&& body) {
  if (rows <= 1 || rows * elements_per_row < kInlineElements) {
    if (rows > 0) body(std::int64_t{0}, rows);
    return;
  }
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(rows), [&](const ThreadPool::Chunk& chunk) {
        body(static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.end));
      });
}

}  // namespace
}  // namespace redline::ops
