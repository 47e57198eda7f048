// Sums a large buffer over and over with all threads. Sums of 64-byte lines in four independent vectors: the
// adds are then far from being the limit, and the compiler cannot drop the loads because the sum is checked.
#include "core/memory_bandwidth.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace redline {
namespace {

using Lanes = std::uint64_t __attribute__((vector_size(32), may_alias));

constexpr std::size_t kLineBytes = 128;  // four vectors of 32 bytes: two cache lines
constexpr std::uint64_t kMiB = 1ull << 20;

class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (start_ == MAP_FAILED) {
      fail(ErrorKind::OutOfMemory, "{} bytes for measuring the memory's speed: {}", bytes,
           std::generic_category().message(errno));
    }
    // Weights are read from huge pages too where the system grants them; a refusal changes nothing but the
    // number.
    ::madvise(start_, bytes, MADV_HUGEPAGE);
  }
  ~Pages() { ::munmap(start_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(start_); }

 private:
  std::size_t bytes_;
  void* start_;
};

std::uint64_t sum_of_lines(const std::byte* from, std::size_t lines) {
  Lanes a{}, b{}, c{}, d{};
  for (std::size_t line = 0; line < lines; ++line, from += kLineBytes) {
    const auto* vectors = reinterpret_cast<const Lanes*>(from);
    a += vectors[0];
    b += vectors[1];
    c += vectors[2];
    d += vectors[3];
  }
  a += b + c + d;
  return a[0] + a[1] + a[2] + a[3];
}

}  // namespace

std::uint64_t bandwidth_buffer_bytes(const Topology& topology, std::uint64_t free_bytes) {
  const auto caches = static_cast<std::uint64_t>(topology.caches.empty() ? 0 : topology.caches.back().count);
  std::uint64_t bytes = std::max(4 * caches * topology.last_cache_bytes(), 64 * kMiB);
  bytes = std::min({bytes, 1024 * kMiB, free_bytes / 8});
  return std::max<std::uint64_t>(bytes / kMiB, 1) * kMiB;
}

MemoryBandwidth measure_memory_bandwidth(ThreadPool& pool, const Topology& topology, double seconds) {
  using Clock = std::chrono::steady_clock;
  const std::uint64_t bytes = bandwidth_buffer_bytes(topology, free_memory_bytes().value_or(512 * kMiB));
  const std::size_t lines = bytes / kLineBytes;
  const Pages buffer(bytes);
  // Written, not only read: untouched pages all show the same page of zeros.
  pool.parallel_for(lines, [&](const ThreadPool::Chunk& chunk) {
    std::fill(buffer.data() + chunk.begin * kLineBytes, buffer.data() + chunk.end * kLineBytes, std::byte{1});
  });
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(pool.size()) * 8);  // a cache line each
  std::vector<double> round_seconds;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    const auto start = Clock::now();
    pool.parallel_for(lines, [&](const ThreadPool::Chunk& chunk) {
      sums[static_cast<std::size_t>(chunk.index) * 8] =
          sum_of_lines(buffer.data() + chunk.begin * kLineBytes, chunk.end - chunk.begin);
    });
    round_seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    std::uint64_t total = 0;
    for (std::uint64_t sum : sums) total += sum;
    ensure(total == 0x0101'0101'0101'0101 * (bytes / 8),
           "memory read back wrong while its speed was measured");
  } while (round_seconds.size() < 3 || Clock::now() < end);
  std::sort(round_seconds.begin(), round_seconds.end());
  const auto size = static_cast<double>(bytes);
  const std::uint64_t last_caches =
      topology.caches.empty()
          ? 0
          : topology.last_cache_bytes() * static_cast<std::uint64_t>(topology.caches.back().count);
  return {.bytes_per_second = size / round_seconds.front(),
          .median_bytes_per_second = size / round_seconds[round_seconds.size() / 2],
          .buffer_bytes = bytes,
          .rounds = static_cast<int>(round_seconds.size()),
          .threads = pool.size(),
          .larger_than_caches = last_caches > 0 && bytes >= 2 * last_caches};
}

}  // namespace redline
