// `inspect --why`: what each operator's candidates say to the problems of a model on this device. A dry run
// of a prompt of 512 tokens and of one decode step; no weight is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redline::cli {

struct WhyRow {  // one candidate
  std::string operation, candidate;
  std::int64_t problems = 0;  // different ones that the operator has in this model
  std::int64_t runs = 0;      // for which it is the one that runs
  struct Refusal {
    std::string reason;
    std::int64_t problems = 0;
    std::string example;  // the first of them
  };
  std::vector<Refusal> refusals;
};

std::vector<WhyRow> candidates_of(const std::string& model);
std::string to_text(const std::vector<WhyRow>& rows);

}  // namespace redline::cli
