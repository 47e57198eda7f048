// The report of `quantize` as data, and its two forms (fields as docs/reports.md has them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/rewrite.hpp"

namespace redline::cli {

struct QuantizeReport {
  std::string model, to, output;
  std::uint64_t source_bytes = 0, output_bytes = 0;  // of tensors
  std::size_t shards = 0, kept_shards = 0;
  std::uint64_t fresh_bytes = 0;  // source bytes that this run worked on, in `seconds`
  double seconds = 0;
  std::vector<checkpoint::RewriteError> errors;
};

std::string to_json(const QuantizeReport& report);
std::string to_text(const QuantizeReport& report);

}  // namespace redline::cli
