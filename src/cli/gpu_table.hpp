// Read bandwidth of GPUs that people ask about without having them at hand: `--gpu h200x2`.
#pragma once

#include <string>
#include <string_view>

namespace redline::cli {

struct Bandwidth {
  std::string device;  // "h200"; "cpu"
  int devices = 1;
  double bytes_per_second = 0;  // of each
  bool from_table = true;       // else measured just now, on this machine
  std::string origin;           // "measured on an H200", "datasheet": where the number comes from
};

// BadInput for a name that is not in the table, with those that are.
Bandwidth gpu_bandwidth(std::string_view name_and_count);

}  // namespace redline::cli
