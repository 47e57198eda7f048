// Every weight scheme; rows shared by their choices or one for each; experts chosen by many rows, by one, by
// none.
#include <fmt/format.h>

#include "ops/grouped_matmul/grouped_matmul.hpp"

namespace redline::ops::grouped_matmul {

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, choices, experts, in, out;
    int parts;
    bool shared, quick;
  };
  constexpr Size kSizes[] = {{1, 2, 4, 64, 34, 2, true, true},     {1, 8, 16, 48, 20, 1, false, true},
                             {3, 3, 8, 80, 18, 2, true, true},     {7, 1, 3, 128, 17, 1, false, true},
                             {65, 2, 4, 32, 16, 2, true, true},    {1, 1, 1, 16, 1, 1, true, true},
                             {9, 8, 32, 256, 130, 2, true, false}, {33, 4, 8, 272, 66, 1, false, false}};
  std::vector<Case<Args>> all;
  for (const auto& [name, scheme] : quant::every_scheme()) {
    for (const Size& size : kSizes) {
      all.push_back(
          {fmt::format("rows={} choices={} experts={} in={} out={} parts={} {} {}", size.rows, size.choices,
                       size.experts, size.in, size.out, size.parts, size.shared ? "shared" : "own", name),
           size.quick, [scheme, size](CaseBuilder& build) {
             return Args{.x = build.normal(DType::BF16,
                                           {size.shared ? size.rows : size.rows * size.choices, size.in}),
                         .experts = build.random_integers({size.rows, size.choices},
                                                          static_cast<std::int32_t>(size.experts)),
                         .weight = &build.weight(scheme, size.experts, size.out, size.in, size.parts),
                         .y = build.output(DType::BF16, {size.rows * size.choices, size.out})};
           }});
    }
  }
  return all;
}

}  // namespace redline::ops::grouped_matmul
