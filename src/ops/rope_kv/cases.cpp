// Head widths and ratios of the family, scattered pages that fill and begin in the middle, several sequences,
// far positions, scaled rotation.
#include <fmt/format.h>

#include <cmath>

#include "ops/page_cases.hpp"
#include "ops/rope_kv/rope_kv.hpp"

namespace redline::ops::rope_kv {

std::vector<Case<Args>> cases() {
  struct Problem {
    std::int64_t heads, kv_heads, head_dim, rotary, page_tokens;
    std::vector<PagedSequence> sequences;
    std::int32_t position_offset = 0;  // rotation counts from elsewhere than the cache
    float rotation_scale = 1;
    std::int64_t apart = 0;  // extra elements between rows of the projections
    DType norm = DType::BF16;
    double deviation = 1;
    bool quick = true;
  };
  const std::vector<Problem> problems = {
      {8, 2, 256, 64, 64, {{1, 1}}},
      {8, 2, 256, 64, 16, {{1, 17}, {3, 35}, {1, 16}}, 11, 1.1386f},
      {6, 2, 128, 128, 16, {{33, 40}, {2, 2}}, 0, 1, 24},
      {3, 1, 64, 32, 16, {{65, 65}}, 0, 1, 0, DType::F32},
      {2, 1, 64, 16, 64, {{1, 190}}, 260000},
      {4, 4, 64, 32, 16, {{2, 3}}, 0, 1, 0, DType::BF16, 1e-3},  // so small that epsilon counts
      {24, 4, 256, 64, 64, {{200, 500}, {1, 64}}, 3, 1, 0, DType::BF16, 1, false},
      {32, 2, 256, 64, 64, {{4, 100}, {4, 66}}, 0, 1, 0, DType::BF16, 1, false},
  };
  std::vector<Case<Args>> all;
  all.reserve(std::size(problems));
  for (const Problem& problem : problems) {
    all.push_back(
        {fmt::format("heads={}/{} of {} rotary={} page={} offset={} {}", problem.heads, problem.kv_heads,
                     problem.head_dim, problem.rotary, problem.page_tokens, problem.position_offset,
                     to_text(problem.sequences)),
         problem.quick, [problem](CaseBuilder& build) {
           const std::int64_t rows = row_count(problem.sequences);
           const auto heads_of = [&](std::int64_t heads, std::int64_t width) {
             TensorView view =
                 build.normal(DType::BF16, {rows, heads * width + problem.apart}, problem.deviation);
             view.shape = {rows, heads, width};
             view.strides = {heads * width + problem.apart, width, 1};
             return view;
           };
           std::vector<std::int32_t> positions;
           for (const PagedSequence& one : problem.sequences) {
             for (int i = 0; i < one.rows; ++i)
               positions.push_back(one.length - one.rows + i + problem.position_offset);
           }
           const TensorView frequencies = build.zeros(DType::F32, {problem.rotary / 2});
           for (std::int64_t i = 0; i < problem.rotary / 2; ++i) {
             static_cast<float*>(frequencies.data)[i] = static_cast<float>(
                 std::pow(1e7, -2 * static_cast<double>(i) / static_cast<double>(problem.rotary)));
           }
           const Paging paging = make_paging(build, problem.sequences, problem.page_tokens);
           return Args{.query_gate = heads_of(problem.heads, 2 * problem.head_dim),
                       .key = heads_of(problem.kv_heads, problem.head_dim),
                       .value = heads_of(problem.kv_heads, problem.head_dim),
                       .query_norm = build.normal(problem.norm, {problem.head_dim}, 0.3),
                       .key_norm = build.normal(problem.norm, {problem.head_dim}, 0.3),
                       .frequencies = frequencies,
                       .positions = build.integers(positions),
                       .row_begin = paging.row_begin,
                       .kv_lengths = paging.kv_lengths,
                       .pages = paging.pages,
                       .page_begin = paging.page_begin,
                       .rotation_scale = problem.rotation_scale,
                       .query = build.output(DType::BF16, {rows, problem.heads, problem.head_dim}),
                       .kv = build.normal_in_out(DType::BF16, {paging.page_count, 2, problem.kv_heads,
                                                               problem.page_tokens, problem.head_dim})};
         }});
  }
  return all;
}

}  // namespace redline::ops::rope_kv
