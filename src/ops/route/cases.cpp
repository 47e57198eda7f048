// The family's numbers of experts and choices, odd ones, ties (BF16 logits of a small spread have many), and rows far from zero.
#include <fmt/format.h>

#include "ops/route/route.hpp"

namespace redline::ops::route {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t rows, experts, choices;
    DType dtype = DType::BF16;
    double deviation = 1, mean = 0;
  };
  std::vector<Case<Args>> list;
  for (const Problem& problem : {Problem{1, 256, 8}, Problem{3, 512, 10}, Problem{17, 8, 2, DType::F32}, Problem{65, 31, 5, DType::F32, 10},
                                 Problem{33, 256, 8, DType::BF16, 0.01, 3}, Problem{2, 4, 4}, Problem{2, 5, 1, DType::F32, 1, -2000}}) {
    list.push_back({fmt::format("rows={} experts={} choices={} {} deviation={} mean={}", problem.rows, problem.experts, problem.choices, name_of(problem.dtype),
                                problem.deviation, problem.mean),
                    true, [problem](CaseBuilder& build) {
                      return Args{.logits = build.normal(problem.dtype, {problem.rows, problem.experts}, problem.deviation, problem.mean),
                                  .experts = build.output(DType::I32, {problem.rows, problem.choices}),
                                  .weights = build.output(DType::F32, {problem.rows, problem.choices})};
                    }});
  }
  return list;
}

}  // namespace redline::ops::route
