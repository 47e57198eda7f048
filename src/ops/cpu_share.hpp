// Small helpers of CPU candidates: work shared out among threads, or done at once where waking them would
// cost more; parameters of either type. All is in an unnamed namespace, because files that include it are
// compiled for different vector units.
#pragma once

#include <cstdint>

#include "core/dtype.hpp"
#include "core/tensor.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/exec.hpp"
#include "ops/lanes.hpp"

namespace redline::ops {
namespace {

// Below so many multiplications or elements in all, waking the workers (some ten microseconds) takes longer
// than the work.
constexpr std::int64_t kWorthThreads = 1 << 16;

// body(begin, end) over [0, count), at once or in one contiguous piece for each thread.
template <class Body>
inline void share_out(Exec& exec, std::int64_t count, std::int64_t work, Body&& body) {
  if (count <= 0) return;
  if (count == 1 || work < kWorthThreads) return body(std::int64_t{0}, count);
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(count), [&](const ThreadPool::Chunk& chunk) {
        body(static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.end));
      });
}

// Element `i`, in the view's own strides, of a parameter that is BF16 or F32.
inline float parameter(const TensorView& view, std::int64_t i) {
  return view.dtype == DType::F32 ? static_cast<const float*>(view.data)[i]
                                  : widened(static_cast<const std::uint16_t*>(view.data)[i]);
}

inline bool is_parameter(DType dtype) { return dtype == DType::BF16 || dtype == DType::F32; }
inline const std::int32_t* integers(const TensorView& view) {
  return static_cast<const std::int32_t*>(view.data);
}

}  // namespace
}  // namespace redline::ops
