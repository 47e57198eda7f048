// Sixteen channels at a time, in vectors of eight.
#include "ops/short_conv/cpu_channels.hpp"

namespace redline::ops::short_conv::cpu_avx2 {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  return supports_channels(device, args);
}

}  // namespace

Candidate<Args> channels() { return {.order = 10, .supports = supports, .run = run_channels}; }

}  // namespace redline::ops::short_conv::cpu_avx2
