// What a device is to the layers above: memory, copies, waiting. Calls are coarse, at most a few per step,
// never one per operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/tensor.hpp"
#include "device/buffer.hpp"

namespace redline {

enum class DeviceKind : std::uint8_t { Cpu, Cuda };

// A queue of work on a device. A CPU has none: handle is null and every call has finished when it returns.
struct StreamRef {
  void* handle = nullptr;
};

// What candidates ask before they accept a problem.
struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx512 = false;       // F, BW, DQ, VL, VNNI
  bool avx512_bf16 = false;  // vdpbf16ps
  bool amx = false;          // tiles and AMX-BF16, allowed by the kernel
};

struct DeviceInfo {
  DeviceKind kind = DeviceKind::Cpu;
  std::string name;
  int compute_capability = 0;  // 90, 100, 120; 0 on a CPU
  int multiprocessors = 0;     // a CPU's worker threads
  std::size_t memory_bytes = 0;
  CpuFeatures cpu;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // Not cleared. Error (OutOfMemory) with what was asked for and what there is.
  virtual Buffer allocate(std::size_t bytes, Place place) = 0;
  // Both views dense and of equal bytes; at least one end on this device.
  virtual void copy(const TensorView& from, const TensorView& to, StreamRef stream) = 0;
  virtual void wait(StreamRef stream) = 0;
};

}  // namespace redline
