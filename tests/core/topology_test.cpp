// The topology against what the system says by other means, its rules on made-up machines, and the measured
// bandwidth.
#include "core/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "core/memory_bandwidth.hpp"

namespace redline {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20, kGiB = 1ull << 30;

TEST(Topology, AgreesWithTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  const Topology topology = read_topology();
  EXPECT_EQ(topology.processors, CPU_COUNT(&mask));
  EXPECT_GE(topology.cores, 1);
  EXPECT_LE(topology.cores, topology.processors);
  EXPECT_GE(topology.packages, 1);
  ASSERT_FALSE(topology.nodes.empty());
  int in_nodes = 0;
  for (const NumaNode& node : topology.nodes) in_nodes += static_cast<int>(node.processors.size());
  EXPECT_EQ(in_nodes, topology.processors);
  const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  EXPECT_GT(topology.memory_bytes, 0u);
  EXPECT_LE(topology.memory_bytes, physical + physical / 16);
  for (std::size_t i = 1; i < topology.caches.size(); ++i)
    EXPECT_LT(topology.caches[i - 1].level, topology.caches[i].level);
}

TEST(Topology, FewerProcessorsAfterBindingToOne) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  int processor = 0;
  while (!CPU_ISSET(processor, &before)) ++processor;
  CPU_SET(processor, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Topology topology = read_topology();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(topology.processors, 1);
  EXPECT_EQ(topology.cores, 1);
  EXPECT_EQ(topology.usable_threads(), 1);
}

TEST(Topology, QuotaLimitsThreads) {
  Topology topology;
  topology.cores = 8;
  topology.processors = 16;
  EXPECT_EQ(topology.usable_threads(), 16);
  EXPECT_EQ(topology.worker_threads(), 8);
  topology.processor_quota = 2.5;
  EXPECT_EQ(topology.usable_threads(), 3);
  EXPECT_EQ(topology.worker_threads(), 3);
  topology.processor_quota = 0.1;
  EXPECT_EQ(topology.worker_threads(), 1);
  topology.processor_quota = 64;
  EXPECT_EQ(topology.usable_threads(), 16);
}

TEST(Topology, FreeMemoryIsSomeAndNotMoreThanThereIs) {
  const auto free = free_memory_bytes();
  ASSERT_TRUE(free.has_value());
  EXPECT_GT(*free, kMiB);
  EXPECT_LE(*free, read_topology().memory_bytes);
}

TEST(MemoryBandwidth, BufferSize) {
  Topology topology;
  EXPECT_EQ(bandwidth_buffer_bytes(topology, 64 * kGiB), 64 * kMiB) << "caches unknown";
  topology.caches = {{.level = 3, .bytes = 32 * kMiB, .count = 2, .shared_by = 16}};
  EXPECT_EQ(bandwidth_buffer_bytes(topology, 64 * kGiB), 256 * kMiB) << "four times both caches";
  topology.caches[0].count = 16;
  EXPECT_EQ(bandwidth_buffer_bytes(topology, 64 * kGiB), 1024 * kMiB) << "the cap";
  EXPECT_EQ(bandwidth_buffer_bytes(topology, 800 * kMiB), 100 * kMiB) << "an eighth of what is free";
  EXPECT_EQ(bandwidth_buffer_bytes(topology, 0), kMiB) << "never nothing";
}

TEST(MemoryBandwidth, MeasuresSomethingPlausible) {
  const Topology topology = read_topology();
  ThreadPool pool(topology.worker_threads());
  const MemoryBandwidth measured = measure_memory_bandwidth(pool, topology, 0.02);
  EXPECT_GE(measured.rounds, 3);
  EXPECT_EQ(measured.threads, pool.size());
  EXPECT_GE(measured.bytes_per_second, measured.median_bytes_per_second);
  EXPECT_GT(measured.median_bytes_per_second, 1e7) << "slower than a disk: the sum is not what is timed";
  EXPECT_LT(measured.bytes_per_second, 2e13) << "faster than any memory: the loads were dropped";
  RecordProperty("gigabytes_per_second", static_cast<int>(measured.bytes_per_second / 1e9));
}

}  // namespace
}  // namespace redline
