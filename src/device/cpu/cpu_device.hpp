// The host as a device: its memory, its worker pool, what its vector units can do.
#pragma once

#include "core/threads.hpp"
#include "device/device.hpp"

namespace redline {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads = 0);  // 0: one per core that this process may use
  const DeviceInfo& info() const override { return info_; }
  Buffer allocate(std::size_t bytes, Place place) override;
  void copy(const TensorView& from, const TensorView& to, StreamRef stream) override;
  void wait(StreamRef) override {}

  ThreadPool& threads() { return threads_; }

 private:
  ThreadPool threads_;
  DeviceInfo info_;
};

}  // namespace redline
