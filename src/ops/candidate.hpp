// One way to run an operator: four functions and a guess. The build collects all candidates of an operator
// into its list (cmake/RedlineCandidates.cmake); the path of the file is the name in logs, tune files and
// benchmarks.
#pragma once

#include <cstddef>
#include <string_view>

#include "device/device.hpp"
#include "ops/exec.hpp"

namespace redline::ops {

// Yes, or the reason why not.
struct Verdict {
  const char* no = nullptr;
  explicit operator bool() const { return no == nullptr; }
};

template <class Args>
struct Candidate {
  int order = 0;  // lower is tried first while nothing has been tuned
  Verdict (*supports)(const DeviceInfo& device, const Args& args) = nullptr;
  int (*variants)(const DeviceInfo& device, const Args& args) = nullptr;  // null: one
  std::size_t (*scratch_bytes)(const Args& args, int variant) = nullptr;  // null: none
  void (*run)(Exec& exec, const Args& args, int variant) = nullptr;  // enqueues; never waits or allocates
};

template <class Args>
struct Entry {
  std::string_view path;  // "cpu/avx2/tiles"
  Candidate<Args> candidate;
};

}  // namespace redline::ops
