// Portable: a block of columns at a time stays in registers or the first cache while all choices are added to it.
#include <algorithm>
#include <cmath>

#include "core/numbers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/combine/combine.hpp"

namespace redline::ops::combine::cpu_any {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kInlineElements = 65536;  // below, waking threads costs more than the work

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  const bool shared = args.shared.shape.dims > 0;
  if (args.routed.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"activations are not BF16"};
  if (shared && (args.shared.dtype != DType::BF16 || args.shared_gate.dtype != DType::BF16)) return {"activations are not BF16"};
  return {};
}

void add(float* sums, const std::uint16_t* from, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * from_bf16(from[i]);
}

void rows(const Args& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t choices = args.weights.shape[1], width = args.y.shape[1];
  const auto* routed = static_cast<const std::uint16_t*>(args.routed.data);
  const auto* shared = static_cast<const std::uint16_t*>(args.shared.data);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* weights = static_cast<const float*>(args.weights.data) + row * args.weights.strides[0];
    float gate = 0;
    if (shared != nullptr) gate = 1 / (1 + std::exp(-from_bf16(static_cast<const std::uint16_t*>(args.shared_gate.data)[row * args.shared_gate.strides[0]])));
    for (std::int64_t first = 0; first < width; first += kColumns) {
      const std::int64_t count = std::min(kColumns, width - first);
      float sums[kColumns] = {};
      for (std::int64_t c = 0; c < choices; ++c) add(sums, routed + (row * choices + c) * args.routed.strides[0] + first, weights[c], count);
      if (shared != nullptr) add(sums, shared + row * args.shared.strides[0] + first, gate, count);
      auto* y = static_cast<std::uint16_t*>(args.y.data) + row * args.y.strides[0] + first;
      for (std::int64_t i = 0; i < count; ++i) y[i] = to_bf16(sums[i]);
    }
  }
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t count = args.y.shape[0];
  if (args.routed.shape.elements() < kInlineElements) return rows(args, 0, count);
  static_cast<CpuDevice&>(exec.device).threads().parallel_for(static_cast<std::size_t>(count), [&](const ThreadPool::Chunk& chunk) {
    rows(args, static_cast<std::int64_t>(chunk.begin), static_cast<std::int64_t>(chunk.end));
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::combine::cpu_any
