// Head widths and ratios of the family; decode, drafted rows and prompts, alone and mixed; lengths at page
// and block borders.
#include <fmt/format.h>

#include <cmath>

#include "ops/attention/attention.hpp"
#include "ops/page_cases.hpp"

namespace redline::ops::attention {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t heads, kv_heads, head_dim, page_tokens;
    std::vector<PagedSequence> sequences;
    bool gate = true;
    double deviation = 1;  // of queries: large ones make softmax sharp
    bool quick = true;
  };
  const std::vector<Problem> problems = {
      {4, 1, 256, 64, {{1, 1}}},
      {4, 2, 256, 16, {{1, 63}, {1, 64}, {1, 65}}},
      {8, 1, 128, 16, {{3, 3}, {1, 130}, {4, 33}}},
      {3, 1, 64, 16, {{65, 65}, {1, 20}}},
      {2, 2, 64, 16, {{33, 100}}, false},
      {6, 2, 128, 16, {{17, 17}, {2, 40}}, true, 30},
      {16, 2, 64, 64, {{1, 70}}, true, 3},
      {4, 1, 256, 16, {{63, 64}}},
      {24, 4, 256, 64, {{1, 200}, {5, 133}}, true, 1, false},
      {32, 2, 256, 64, {{64, 129}}, true, 1, false},
      {2, 1, 64, 64, {{1, 2500}, {20, 1040}}, true, 1, false},
  };
  std::vector<Case<Args>> all;
  all.reserve(std::size(problems));
  for (const Problem& problem : problems) {
    all.push_back(
        {fmt::format("heads={}/{} of {} page={} gate={} deviation={} {}", problem.heads, problem.kv_heads,
                     problem.head_dim, problem.page_tokens, problem.gate, problem.deviation,
                     to_text(problem.sequences)),
         problem.quick, [problem](CaseBuilder& build) {
           const std::int64_t rows = row_count(problem.sequences);
           const Paging paging = make_paging(build, problem.sequences, problem.page_tokens);
           Args args{
               .query = build.normal(DType::BF16, {rows, problem.heads, problem.head_dim}, problem.deviation),
               .kv = build.normal(DType::BF16, {paging.page_count, 2, problem.kv_heads, problem.page_tokens,
                                                problem.head_dim}),
               .row_begin = paging.row_begin,
               .kv_lengths = paging.kv_lengths,
               .pages = paging.pages,
               .page_begin = paging.page_begin,
               .scale = 1 / std::sqrt(static_cast<float>(problem.head_dim)),
               .y = build.output(DType::BF16, {rows, problem.heads, problem.head_dim})};
           if (problem.gate)
             args.query_gate = build.normal(DType::BF16, {rows, problem.heads, 2 * problem.head_dim}, 2);
           // Tokens nobody has written yet are whatever the memory held.
           for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
             const std::int64_t last = static_cast<const std::int32_t*>(paging.page_begin.data)[s + 1] - 1;
             const std::int64_t page = static_cast<const std::int32_t*>(paging.pages.data)[last];
             const std::int64_t used = (problem.sequences[s].length - 1) % problem.page_tokens + 1;
             for (std::int64_t token = used; token < problem.page_tokens; ++token) {
               for (std::int64_t part = 0; part < 2 * problem.kv_heads; ++part) {
                 const std::int64_t at =
                     ((page * 2 * problem.kv_heads + part) * problem.page_tokens + token) * problem.head_dim;
                 for (std::int64_t i = 0; i < problem.head_dim; ++i)
                   static_cast<std::uint16_t*>(args.kv.data)[at + i] = 0x7fc0;
               }
             }
           }
           return args;
         }});
  }
  return all;
}

}  // namespace redline::ops::attention
