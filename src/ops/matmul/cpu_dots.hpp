// What the dot-product candidates of every CPU level share: a few rows of x, every weight row streamed once
// and multiplied with all of them. Output rows are shared out among the threads in equal, contiguous pieces,
// so that each reads one long stream. All is in an unnamed namespace: each candidate gets its own copy,
// compiled for its own CPU level.
#pragma once

#include <cstdint>

#include "device/cpu/cpu_device.hpp"
#include "ops/lanes.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul {
namespace {

constexpr int kMostRows = 16;  // from here on panels.cpp, which widens a weight once for all rows, is faster

// Of x as the dot products want it: `width` elements X for each row.
template <class X>
inline std::size_t dots_scratch_bytes(const Args& args, std::int64_t width) {
  return static_cast<std::size_t>(args.x.shape[0] * width) * sizeof(X);
}

// prepare(x row, X [width]); dot(part, row of it, rows of x, how many, sums [how many]).
template <class X, class Prepare, class Dot>
void run_dots(Exec& exec, const Args& args, std::int64_t width, Prepare&& prepare, Dot&& dot) {
  const PackedWeight& weight = *args.weight;
  const auto rows = static_cast<int>(args.x.shape[0]);
  auto* prepared = static_cast<X*>(exec.scratch.take_bytes(dots_scratch_bytes<X>(args, width)));
  const X* x[kMostRows] = {};
  for (int r = 0; r < rows; ++r) {
    prepare(static_cast<const std::uint16_t*>(args.x.data) + r * args.x.strides[0], prepared + r * width);
    x[r] = prepared + r * width;
  }
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(weight.out), [&](const ThreadPool::Chunk& chunk) {
        float sums[kMostRows];
        for (auto n = static_cast<std::int64_t>(chunk.begin); n < static_cast<std::int64_t>(chunk.end); ++n) {
          dot(weight.part(0, n / rows_per_part), n % rows_per_part, x, rows, sums);
          for (int r = 0; r < rows; ++r) {
            if (args.y.dtype == DType::F32) {
              static_cast<float*>(args.y.data)[r * args.y.strides[0] + n] = sums[r];
            } else {
              static_cast<std::uint16_t*>(args.y.data)[r * args.y.strides[0] + n] = narrowed(sums[r]);
            }
          }
        }
      });
}

}  // namespace
}  // namespace redline::ops::matmul
