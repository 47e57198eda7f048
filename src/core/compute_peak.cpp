// Twelve independent accumulators: a multiply-add takes four or five cycles and two start in each, so ten must be under way at any time.
#include "core/compute_peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace redline {
namespace {

constexpr int kAccumulators = 12;
constexpr int kRounds = 20000;

// The compiler must not fold the chain: factors come from outside, and the sum is looked at.
template <class Vector>
[[gnu::always_inline]] inline float chain(float factor) {
  Vector multiply{}, add{};
  for (std::size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) {
    multiply[i] = factor;
    add[i] = 1 - factor;
  }
  Vector sums[kAccumulators] = {};
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * multiply + add;
  }
  float total = 0;
  for (const Vector& sum : sums) {
    for (std::size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) total += sum[i];
  }
  return total;
}

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));

float baseline(float factor) { return chain<Vector4>(factor); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float avx2(float factor) { return chain<Vector8>(factor); }
[[gnu::target("avx512f")]] float avx512(float factor) { return chain<Vector16>(factor); }
#endif

struct Kind {
  float (*run)(float);
  double lanes;
  std::string_view name;
};

Kind widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {avx512, 16, "avx512f"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {avx2, 8, "avx2+fma"};
#endif
  return {baseline, 4, "baseline"};
}

}  // namespace

ComputePeak measure_compute_peak(ThreadPool& pool, double seconds) {
  const Kind kind = widest();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const double operations = 2.0 * kind.lanes * kAccumulators * kRounds;
  const auto threads = static_cast<std::size_t>(pool.size());
  std::vector<float> totals(threads * 16);  // a cache line each
  double best = 0;
  do {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(threads, [&](const ThreadPool::Chunk& chunk) {
      for (int pass = 0; pass < 8; ++pass) totals[chunk.begin * 16] += kind.run(0.5f + 1e-3f * static_cast<float>(pass));
    });
    const std::chrono::duration<double> took = Clock::now() - start;
    best = std::max(best, 8 * operations * static_cast<double>(threads) / took.count());
  } while (Clock::now() < end);
  for (std::size_t i = 0; i < threads; ++i) ensure(totals[i * 16] > 0, "the multiply-adds of thread {} were not done", i);
  return {best, kind.name};
}

}  // namespace redline
