// From one pool to another and within one, odd sizes, nothing to do; what is not a target must keep its bytes.
#include <fmt/format.h>

#include <vector>

#include "ops/copy/copy.hpp"

namespace redline::ops::copy {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t slots, bytes;
    std::vector<std::int32_t> from, to;
    bool same_pool = false;
  };
  const std::vector<Problem> problems{
      {5, 256, {4, 0, 0}, {1, 2, 0}}, {7, 36, {6}, {0}}, {6, 4096, {5, 4}, {1, 3}, true}, {3, 64, {}, {}}, {4, 100000, {1, 1, 2}, {0, 3, 2}}};
  std::vector<Case<Args>> list;
  for (const Problem& problem : problems) {
    list.push_back({fmt::format("slots={} bytes={} copies={}{}", problem.slots, problem.bytes, problem.from.size(), problem.same_pool ? " in place" : ""), true,
                    [problem](CaseBuilder& build) {
                      const auto random_bytes = [&] {
                        const TensorView words = build.random_integers({problem.slots, problem.bytes / 4}, 0x7fffffff);
                        return dense_view(words.data, DType::U8, {problem.slots, problem.bytes});
                      };
                      const TensorView from = random_bytes(), kept = random_bytes();
                      const TensorView to = build.bytes_in_out({problem.slots, problem.bytes}, problem.same_pool ? from : kept, DType::U8);
                      return Args{.from = problem.same_pool ? to : from, .to = to, .from_index = build.integers(problem.from), .to_index = build.integers(problem.to)};
                    }});
  }
  return list;
}

}  // namespace redline::ops::copy
