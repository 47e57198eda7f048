// Each filter alone and together, penalties, padding that would win, vocabularies with odd tails and of the
// real size.
#include <fmt/format.h>

#include <vector>

#include "ops/sample/sample.hpp"

namespace redline::ops::sample {
namespace {

struct Row {
  float temperature = 1;
  std::int32_t top_k = 0;
  float top_p = 1, min_p = 0;
};

struct Problem {
  std::string name;
  std::int64_t vocabulary, padded;
  std::vector<Row> rows;
  bool penalties = false;
  bool quick = true;
  double deviation = 3;
};

TensorView column(CaseBuilder& build, DType dtype, std::int64_t rows) { return build.zeros(dtype, {rows}); }

Args make(CaseBuilder& build, const Problem& problem) {
  const auto rows = static_cast<std::int64_t>(problem.rows.size());
  Args args;
  args.logits = build.normal(DType::F32, {rows, problem.padded}, problem.deviation);
  args.vocabulary = static_cast<int>(problem.vocabulary);
  args.temperature = column(build, DType::F32, rows);
  args.top_k = column(build, DType::I32, rows);
  args.top_p = column(build, DType::F32, rows);
  args.min_p = column(build, DType::F32, rows);
  args.seed = column(build, DType::I64, rows);
  args.position = column(build, DType::I32, rows);
  if (problem.penalties) {
    args.counts = build.random_integers({rows, problem.vocabulary}, 4);
    args.presence = build.normal(DType::F32, {rows}, 0.5);
    args.frequency = build.normal(DType::F32, {rows}, 0.3);
    args.repetition = build.normal(DType::F32, {rows}, 0.1, 1.1);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const Row& row = problem.rows[static_cast<std::size_t>(r)];
    // Padding would win if it could.
    for (std::int64_t id = problem.vocabulary; id < problem.padded; ++id)
      static_cast<float*>(args.logits.data)[r * problem.padded + id] = 1e9f;
    static_cast<float*>(args.temperature.data)[r] = row.temperature;
    static_cast<std::int32_t*>(args.top_k.data)[r] = row.top_k;
    static_cast<float*>(args.top_p.data)[r] = row.top_p;
    static_cast<float*>(args.min_p.data)[r] = row.min_p;
    static_cast<std::uint64_t*>(args.seed.data)[r] =
        0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(r + 1);
    static_cast<std::int32_t*>(args.position.data)[r] = static_cast<std::int32_t>(100 + 7 * r);
  }
  args.ids = build.output(DType::I32, {rows});
  return args;
}

}  // namespace

std::vector<Case<Args>> cases() {
  const std::vector<Row> all_kinds{{0},
                                   {1},
                                   {0.3f},
                                   {2},
                                   {1, 1},
                                   {1, 5},
                                   {1, 0, 0.9f},
                                   {1, 0, 0.05f},
                                   {1, 0, 0},
                                   {1, 0, 1, 0.1f},
                                   {0.7f, 20, 0.8f},
                                   {1, 40, 1, 0.05f},
                                   {1, 50, 0.95f, 0.02f},
                                   {1, 100000},
                                   {0, 3, 0.5f},
                                   {1, 0, 1, 1}};
  const std::vector<Problem> problems{
      {.name = "every filter", .vocabulary = 997, .padded = 1024, .rows = all_kinds},
      {.name = "every filter, penalties",
       .vocabulary = 997,
       .padded = 1000,
       .rows = all_kinds,
       .penalties = true},
      {.name = "flat", .vocabulary = 4099, .padded = 4099, .rows = all_kinds, .deviation = 0.05},
      {.name = "sharp", .vocabulary = 4099, .padded = 4099, .rows = all_kinds, .deviation = 40},
      {.name = "one id", .vocabulary = 1, .padded = 2, .rows = {{0}, {1}, {1, 0, 0.5f}}},
      {.name = "real vocabulary",
       .vocabulary = 248077,
       .padded = 248320,
       .rows = {{0}, {1}, {0.6f, 20, 0.95f}, {1, 0, 0.9f}},
       .quick = true},
      {.name = "real vocabulary, penalties",
       .vocabulary = 248077,
       .padded = 248320,
       .rows = all_kinds,
       .penalties = true,
       .quick = false},
  };
  std::vector<Case<Args>> list;
  list.reserve(std::size(problems));
  for (const Problem& problem : problems) {
    list.push_back(
        {problem.name, problem.quick, [problem](CaseBuilder& build) { return make(build, problem); }});
  }
  return list;
}

}  // namespace redline::ops::sample
