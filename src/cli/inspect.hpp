// `redline inspect`: what a checkpoint is, what a decoded token costs, and the ceiling that follows for a
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace redline::cli {

struct InspectOptions {
  std::string model;  // a folder, or "synthetic:NAME[@PRECISION]"
  bool json = false;
  bool why = false;                // candidates of each operator and what they refuse
  std::optional<std::string> gpu;  // "h200x2"; without it the ceiling is that of this machine's processors
  std::int64_t context =
      0;  // tokens; 0: the ceiling without context, the memory plan with the longest there may be
};

// Prints the report to stdout and returns the exit code: 0, or 3 where the files have faults (the report
// lists them). Throws Error where there is nothing to report on: no folder, no config.json, an unknown
// architecture, size or GPU.
int run_inspect(const InspectOptions& options);

}  // namespace redline::cli
