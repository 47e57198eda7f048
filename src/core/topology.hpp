// What the processor and its memory look like to the calling thread: cores, caches, NUMA nodes and the limits
// that a container sets. topology.cpp alone includes hwloc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace redline {

struct Cache {
  int level = 0;
  std::uint64_t bytes = 0;  // of one of them
  int count = 0;            // how many this process may use
  int shared_by = 0;        // logical processors under one
};

struct NumaNode {
  int number = 0;               // the system's
  std::uint64_t bytes = 0;      // 0: the system does not say
  std::vector<int> processors;  // logical ones that this process may use, by the system's numbers
};

struct Topology {
  int packages = 0;
  int cores = 0;                          // physical ones with at least one processor that we may use
  int processors = 0;                     // logical ones that we may use (affinity and cpuset)
  std::optional<double> processor_quota;  // of a container's time share, in processors; 2.5 is possible
  std::vector<Cache> caches;    // data and unified ones, lowest level first; empty if the system does not say
  std::vector<NumaNode> nodes;  // at least one
  std::uint64_t memory_bytes = 0;  // of the machine, or the container's limit where that is lower

  // How many threads can run at once: processors, or the quota rounded up where that is lower. At least 1.
  int usable_threads() const;
  // One per physical core is what work bound by memory or vector units wants.
  int worker_threads() const;
  std::uint64_t last_cache_bytes() const;  // of one of the last level; 0: unknown
};

Topology read_topology();

// What may still be allocated without swapping: the system's estimate, or the container's limit less its use
// where that is lower. nullopt: neither is readable.
std::optional<std::uint64_t> free_memory_bytes();

}  // namespace redline
