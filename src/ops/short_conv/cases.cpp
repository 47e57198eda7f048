// Prompts and decode steps, alone and mixed; rings that are empty, part full, exactly filled and over.
#include <fmt/format.h>

#include "ops/ring_cases.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops::short_conv {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t channels;
    std::vector<RingSequence> sequences;
    DType weight = DType::BF16;
    std::int64_t extra_columns = 0;  // rows of u lie further apart than they are long
    bool quick = true;
  };
  const std::vector<Problem> problems = {
      {.channels = 131, .sequences = {{1, 0, 1}}},
      {.channels = 131, .sequences = {{1, 15, 1}}},
      {.channels = 131, .sequences = {{1, 16, 1}}},
      {.channels = 64, .sequences = {{1, 0, 0}}},
      {.channels = 64, .sequences = {{2, 1, 0}}, .weight = DType::F32},
      {.channels = 600,
       .sequences =
           {{3, 16, 0}, {4, 12, 1}, {4, 13, 1}, {1, 0, 1}, {9, 2, 1}, {16, 0, 1}, {0, 5, 0}, {0, 5, 1}}},
      {.channels = 600, .sequences = {{3, 2, 1}, {65, 3, 0}, {1, 7, 1}}, .extra_columns = 8},
      {.channels = 6144, .sequences = {{200, 0, 0}}, .quick = false},
      {.channels = 8192, .sequences = {{1, 3, 1}, {1, 16, 1}, {64, 0, 0}}, .quick = false},
  };
  std::vector<Case<Args>> all;
  all.reserve(std::size(problems));
  for (const Problem& problem : problems) {
    all.push_back(
        {fmt::format("channels={} weight={} {}", problem.channels, name_of(problem.weight),
                     to_text(problem.sequences)),
         problem.quick, [problem](CaseBuilder& build) {
           const std::int64_t rows = row_count(problem.sequences), slots = slot_count(problem.sequences);
           TensorView u = build.normal(DType::BF16, {rows, problem.channels + problem.extra_columns}, 1);
           u.shape = {rows, problem.channels};
           const TensorView kept =
               build.normal(DType::BF16, {slots, (kTaps - 1 + kRingRows) * problem.channels});
           return Args{.u = u,
                       .weight = build.normal(problem.weight, {problem.channels, kTaps}, 0.7),
                       .state = build.bytes_in_out(
                           {slots, static_cast<std::int64_t>(slot_bytes(problem.channels, DType::BF16))},
                           kept, DType::U8),
                       .ring = make_ring(build, problem.sequences),
                       .y = build.output(DType::BF16, {rows, problem.channels})};
         }});
  }
  return all;
}

}  // namespace redline::ops::short_conv
