// Repeated, first and last tokens; every pair of types; a table whose rows are parts of wider ones.
#include <fmt/format.h>

#include "ops/embed/embed.hpp"

namespace redline::ops::embed {

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, vocabulary, hidden;
    bool quick;
  };
  constexpr Size kSizes[] = {
      {1, 5, 1, true}, {1, 33, 1024, true}, {7, 20, 130, true}, {65, 300, 48, true}, {200, 400, 1024, false}};
  std::vector<Case<Args>> all;
  for (const Size& size : kSizes) {
    for (const DType table : {DType::BF16, DType::F32}) {
      for (const DType y : {DType::BF16, DType::F32}) {
        all.push_back({fmt::format("rows={} vocabulary={} hidden={} {} to {}", size.rows, size.vocabulary,
                                   size.hidden, name_of(table), name_of(y)),
                       size.quick, [size, table, y](CaseBuilder& build) {
                         std::vector<std::int32_t> tokens(static_cast<std::size_t>(size.rows));
                         for (auto& token : tokens)
                           token = static_cast<std::int32_t>(build.random() %
                                                             static_cast<std::uint32_t>(size.vocabulary));
                         tokens.front() = static_cast<std::int32_t>(size.vocabulary - 1);
                         if (size.rows > 1) tokens.back() = 0;
                         return Args{.tokens = build.integers(tokens),
                                     .table = build.normal(table, {size.vocabulary, size.hidden}),
                                     .y = build.output(y, {size.rows, size.hidden})};
                       }});
      }
    }
  }
  all.push_back({"strided table", true, [](CaseBuilder& build) {
                   TensorView table = build.normal(DType::BF16, {9, 64});
                   table.shape = {9, 40};
                   return Args{.tokens = build.integers({8, 3, 3}),
                               .table = table,
                               .y = build.output(DType::BF16, {3, 40})};
                 }});
  return all;
}

}  // namespace redline::ops::embed
