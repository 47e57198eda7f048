// Portable: one slot after another, each cut into pieces for all threads when it is worth waking them.
#include <cstring>

#include "device/cpu/cpu_device.hpp"
#include "ops/copy/copy.hpp"

namespace redline::ops::copy::cpu_any {
namespace {

constexpr std::int64_t kInlineBytes = 1 << 18;

Verdict supports(const DeviceInfo& device, const Args&) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t bytes = args.from.shape[1];
  for (std::int64_t i = 0; i < args.from_index.shape[0]; ++i) {
    const auto* from = static_cast<const std::byte*>(args.from.data) + static_cast<const std::int32_t*>(args.from_index.data)[i] * args.from.strides[0];
    auto* to = static_cast<std::byte*>(args.to.data) + static_cast<const std::int32_t*>(args.to_index.data)[i] * args.to.strides[0];
    if (bytes < kInlineBytes) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
      continue;
    }
    static_cast<CpuDevice&>(exec.device).threads().parallel_for(static_cast<std::size_t>(bytes), [&](const ThreadPool::Chunk& chunk) {
      std::memcpy(to + chunk.begin, from + chunk.begin, chunk.end - chunk.begin);
    });
  }
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::copy::cpu_any
