// With and without a shared expert, odd widths, one row and many.
#include <fmt/format.h>

#include "ops/combine/combine.hpp"

namespace redline::ops::combine {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t rows, choices, width;
    bool shared = true;
  };
  std::vector<Case<Args>> list;
  for (const Problem& problem : {Problem{1, 8, 2048}, Problem{3, 10, 131}, Problem{65, 2, 64}, Problem{17, 1, 33, false}}) {
    list.push_back({fmt::format("rows={} choices={} width={}{}", problem.rows, problem.choices, problem.width, problem.shared ? " shared" : ""), true,
                    [problem](CaseBuilder& build) {
                      Args args{.routed = build.normal(DType::BF16, {problem.rows * problem.choices, problem.width}),
                                .weights = build.normal(DType::F32, {problem.rows, problem.choices}, 0.1 / static_cast<double>(problem.choices),
                                                        1 / static_cast<double>(problem.choices))};
                      if (problem.shared) {
                        args.shared = build.normal(DType::BF16, {problem.rows, problem.width});
                        args.shared_gate = build.normal(DType::BF16, {problem.rows, 1}, 4);
                      }
                      args.y = build.output(DType::BF16, {problem.rows, problem.width});
                      return args;
                    }});
  }
  return list;
}

}  // namespace redline::ops::combine
