// What the dot-product candidates of every CPU level share: tokens sorted by expert, then each chosen
// expert's rows streamed once and multiplied with all rows of x that chose it. Work is shared out by (expert,
// output row), in contiguous pieces, so that one token keeps all threads busy and each reads long streams.
// All is in an unnamed namespace: each candidate gets its own copy, compiled for its own CPU level.
#pragma once

#include <cstdint>

#include "device/cpu/cpu_device.hpp"
#include "ops/grouped_matmul/grouped_matmul.hpp"
#include "ops/lanes.hpp"

namespace redline::ops::grouped_matmul {
namespace {

constexpr std::int64_t kMostAtOnce = 16;

// x as the dot products want it (elements X), then: pairs sorted by expert, the first pair of each expert,
// the experts that were chosen.
template <class X>
inline std::size_t x_bytes(const Args& args, std::int64_t width) {
  return static_cast<std::size_t>(args.x.shape[0] * width) * sizeof(X);
}
template <class X>
inline std::size_t dots_scratch_bytes(const Args& args, std::int64_t width) {
  const auto pairs = static_cast<std::size_t>(args.experts.shape[0] * args.experts.shape[1]);
  const auto experts = static_cast<std::size_t>(args.weight->matrices);
  return x_bytes<X>(args, width) + (pairs + 2 * experts + 1) * sizeof(std::int32_t);
}

// prepare(x row, X [width]); dot(part, row of it, rows of x, how many, sums).
template <class X, class Prepare, class Dot>
void run_dots(Exec& exec, const Args& args, std::int64_t width, Prepare&& prepare, Dot&& dot) {
  const PackedWeight& weight = *args.weight;
  const std::int64_t choices = args.experts.shape[1], pairs = args.experts.shape[0] * choices;
  const bool shared = args.x.shape[0] == args.experts.shape[0];
  const std::int64_t x_rows = args.x.shape[0];
  const auto* chosen = static_cast<const std::int32_t*>(args.experts.data);
  auto* scratch = static_cast<std::uint8_t*>(exec.scratch.take_bytes(dots_scratch_bytes<X>(args, width)));
  auto* x = reinterpret_cast<X*>(scratch);
  auto* order =
      reinterpret_cast<std::int32_t*>(scratch + x_bytes<X>(args, width));  // pairs, expert by expert
  std::int32_t* begin = order + pairs;                                     // [experts + 1]
  std::int32_t* active = begin + weight.matrices + 1;

  // Counting sort, stable, so that a row's place never depends on the rows of others.
  for (std::int64_t e = 0; e <= weight.matrices; ++e) begin[e] = 0;
  for (std::int64_t p = 0; p < pairs; ++p) ++begin[chosen[p] + 1];
  std::int64_t count = 0;
  for (std::int32_t e = 0; e < weight.matrices; ++e) {
    if (begin[e + 1] > 0) active[count++] = e;
    begin[e + 1] += begin[e];
  }
  for (std::int64_t p = pairs - 1; p >= 0; --p) order[--begin[chosen[p] + 1]] = static_cast<std::int32_t>(p);
  // begin[e + 1] is now where expert e starts; its end is where e + 1 starts.
  const auto end_of = [&](std::int32_t e) {
    return e + 1 < weight.matrices ? static_cast<std::int64_t>(begin[e + 2]) : pairs;
  };

  ThreadPool& threads = static_cast<CpuDevice&>(exec.device).threads();
  threads.parallel_for(static_cast<std::size_t>(x_rows), [&](const ThreadPool::Chunk& chunk) {
    for (auto r = static_cast<std::int64_t>(chunk.begin); r < static_cast<std::int64_t>(chunk.end); ++r) {
      prepare(static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0], x + r * width);
    }
  });
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  threads.parallel_for(static_cast<std::size_t>(count * weight.out), [&](const ThreadPool::Chunk& chunk) {
    float sums[kMostAtOnce];
    const X* rows[kMostAtOnce];
    for (auto item = static_cast<std::int64_t>(chunk.begin); item < static_cast<std::int64_t>(chunk.end);
         ++item) {
      const std::int32_t expert = active[item / weight.out];
      const std::int64_t n = item % weight.out;
      const WeightPart& part = weight.part(expert, n / rows_per_part);
      for (std::int64_t first = begin[expert + 1]; first < end_of(expert); first += kMostAtOnce) {
        const std::int64_t left = end_of(expert) - first;
        const int some = static_cast<int>(left < kMostAtOnce ? left : kMostAtOnce);
        for (int i = 0; i < some; ++i)
          rows[i] = x + (shared ? order[first + i] / choices : order[first + i]) * width;
        dot(part, n % rows_per_part, rows, some, sums);
        for (int i = 0; i < some; ++i) {
          static_cast<std::uint16_t*>(args.y.data)[order[first + i] * args.y.strides[0] + n] =
              narrowed(sums[i]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace redline::ops::grouped_matmul
