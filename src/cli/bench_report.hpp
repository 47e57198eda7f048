// What `bench` found, and its two forms: text for people, JSON for programs (docs/reports.md has the fields).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redline::cli {

struct DecodeRow {
  std::int64_t context = 0;
  int drafts = 0;
  std::int64_t steps = 0;
  double tokens_per_s = 0, step_us = 0, step_us_p99 = 0, emitted_per_step = 1;
  std::int64_t bytes_per_step = 0;
  double ceiling_tokens_per_s = 0, share = 0;
};

struct PrefillRow {
  std::int64_t tokens = 0;
  double tokens_per_s = 0, ttft_ms = 0, spread = 0,
         flops_share = 0;  // spread: (worst - best) / median of the repetitions
};

struct OperatorRow {  // of one step
  std::string operation, candidate;
  double calls = 0, us = 0, bytes = 0;
  double share = 0;  // of the bandwidth; 0 where the operator has no bytes worth counting
};

struct BenchReport {
  std::string model, precision, device, device_name, date;
  int threads = 0;
  double bandwidth = 0, compute_peak = 0;  // bytes/s, flop/s, measured in the same run
  std::string compute_instructions;
  std::vector<DecodeRow> decode;
  std::vector<PrefillRow> prefill;
  std::vector<OperatorRow> decode_profile, prefill_profile;
};

std::string to_json(const BenchReport& report);
std::string to_text(const BenchReport& report);

}  // namespace redline::cli
