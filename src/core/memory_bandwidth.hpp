// How fast this machine's processors read their memory, measured: what bounds decoding on a CPU, so what
// `inspect` derives its ceiling from. Takes about a third of a second plus the time to touch the buffer once.
#pragma once

#include <cstdint>

#include "core/threads.hpp"
#include "core/topology.hpp"

namespace redline {

struct MemoryBandwidth {
  double bytes_per_second = 0;         // of the best round: a disturbance makes a round longer, never shorter
  double median_bytes_per_second = 0;  // far below the best: something else was using the memory
  std::uint64_t buffer_bytes = 0;
  int rounds = 0;
  int threads = 0;
  bool larger_than_caches =
      false;  // false: memory was short, or caches are unknown; the number may be a cache's
};

// The bytes of the buffer that is read: four times all last-level caches, at least 64 MiB, at most 1 GiB and
// an eighth of the free memory.
std::uint64_t bandwidth_buffer_bytes(const Topology& topology, std::uint64_t free_bytes);

// Each thread of the pool reads the part of the buffer that it touched first.
MemoryBandwidth measure_memory_bandwidth(ThreadPool& pool, const Topology& topology, double seconds = 0.3);

}  // namespace redline
