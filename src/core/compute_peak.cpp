// Twelve independent accumulators: a multiply-add takes four or five cycles and two start in each, so ten
// must be under way at any time.
#include "core/compute_peak.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/error.hpp"

namespace redline {
namespace {

constexpr int kAccumulators = 12;
constexpr int kRounds = 20000;

// The compiler must not fold the chains: factors come from outside, no two sums start alike (or it would keep
// one of them), and the total is looked at.
template <class Vector>
[[gnu::always_inline]] inline float chain(float factor) {
  Vector multiply{}, add{};
  for (std::size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) {
    multiply[i] = factor;
    add[i] = 1 - factor;
  }
  Vector sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) sums[i] = multiply * static_cast<float>(i + 1);
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

// Pairs of BF16 products: four operations for each lane. As assembly, because clang 16 breaks down over the
// intrinsic in a function with a target of its own.
[[gnu::target("avx512f")]] float avx512_bf16(float factor) {
  const auto code = static_cast<int>(__builtin_bit_cast(std::uint32_t, factor) >> 16);
  const __m512i pairs = _mm512_set1_epi32(code | code << 16);
  __m512 sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_set1_ps(factor * static_cast<float>(i + 1));
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) __asm__("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(pairs));
  }
  float total = 0;
  for (const __m512& sum : sums) total += sum[0] + sum[15];
  return total;
}
#endif

struct Kind {
  float (*run)(float) = nullptr;
  double operations = 0;  // of one instruction
  std::string_view name;
};

// All that this processor has: which is the fastest differs, BF16 pairs are no faster than floats on some.
std::vector<Kind> kinds() {
  std::vector<Kind> found{{baseline, 8, "baseline"}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back({avx2, 16, "avx2+fma"});
  if (__builtin_cpu_supports("avx512f")) found.push_back({avx512, 32, "avx512f"});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"))
    found.push_back({avx512_bf16, 64, "avx512_bf16"});
#endif
  return found;
}

// Operations a second of the best round, all threads together.
double measure(const Kind& kind, ThreadPool& pool, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto threads = static_cast<std::size_t>(pool.size());
  const double operations = 8 * kind.operations * kAccumulators * kRounds * static_cast<double>(threads);
  std::vector<float> totals(threads * 16);  // a cache line each
  double best = 0;
  do {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(threads, [&](const ThreadPool::Chunk& chunk) {
      for (int pass = 0; pass < 8; ++pass)
        totals[chunk.begin * 16] += kind.run(0.5f + 1e-3f * static_cast<float>(pass));
    });
    const std::chrono::duration<double> took = Clock::now() - start;
    best = std::max(best, operations / took.count());
  } while (Clock::now() < end);
  for (std::size_t i = 0; i < threads; ++i)
    ensure(totals[i * 16] > 0, "the multiply-adds of thread {} were not done", i);
  return best;
}

}  // namespace

ComputePeak measure_compute_peak(ThreadPool& pool, double seconds) {
  const std::vector<Kind> all = kinds();
  ComputePeak best;
  for (const Kind& kind : all) {
    const double flops = measure(kind, pool, seconds / static_cast<double>(all.size()));
    if (flops > best.flops) best = {flops, kind.name};
  }
  return best;
}

}  // namespace redline
