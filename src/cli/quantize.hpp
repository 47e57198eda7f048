// `redline quantize`: a BF16 checkpoint into one that nvidia's or the publisher's own readers accept.
#pragma once

#include <cstdint>
#include <string>

namespace redline::cli {

struct QuantizeOptions {
  std::string model;  // folder
  std::string to;     // "experts", "mixed", "nvfp4", "fp8"
  std::string output;
  std::uint64_t shard_bytes = 5'000'000'000;
  bool json = false;
};

int run_quantize(const QuantizeOptions& options);

}  // namespace redline::cli
