// `bench`: how fast the engine itself decodes and reads prompts, how close that is to what the memory allows,
// and where the time goes.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/local_model.hpp"

namespace redline::cli {

struct BenchOptions {
  ModelOptions model;
  std::int64_t context = 1000;             // tokens before the decoded ones
  std::int64_t steps = 200;                // decoded tokens that are timed
  std::vector<std::int64_t> prompts{512};  // lengths of prompts that are timed
  int drafts = 0;
  bool json = false;
};

int run_bench(const BenchOptions& options);

}  // namespace redline::cli
