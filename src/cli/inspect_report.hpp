// The report of `inspect` as data, and its two forms: text for people, JSON for programs (fields as
// docs/reports.md has them).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "cli/gpu_table.hpp"
#include "cli/why.hpp"
#include "model/qwen3_5/census.hpp"
#include "model/qwen3_5/config.hpp"

namespace redline::cli {

struct InspectReport {
  std::string name;
  model::qwen3_5::Config config;
  checkpoint::Bytes weights = checkpoint::Bytes::Here;
  model::qwen3_5::Census census;
  std::vector<std::string> faults, notes;  // those of the files, then those of the census
  Bandwidth bandwidth;
  std::int64_t context = 0;
  std::optional<std::vector<WhyRow>> why;  // if asked for

  double tokens_per_second() const;
};

std::string to_json(const InspectReport& report);
std::string to_text(const InspectReport& report);

}  // namespace redline::cli
