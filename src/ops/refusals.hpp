// Which candidates accept which problems of a model, and why the others refuse: filled by dispatch() in a dry
// run whose Exec carries one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "ops/candidate.hpp"
#include "ops/problem.hpp"

namespace redline::ops {

struct Refusals {
  // (operator, candidate, problem) -> the reason; empty: it accepts.
  std::map<std::tuple<std::string, std::string, std::string>, std::string> verdicts;
  // (operator, problem) -> the candidate that runs.
  std::map<std::pair<std::string, std::string>, std::string> chosen;

  void add(std::string_view operation, const ProblemKey& problem, std::string_view candidate,
           Verdict verdict) {
    verdicts[{std::string(operation), std::string(candidate), problem.text}] = verdict ? "" : verdict.no;
  }
};

}  // namespace redline::ops
