// The family's expert counts and small ones; BF16 logits, of which many are equal; all equal; all chosen;
// experts that are masked.
#include <fmt/format.h>

#include "ops/elements.hpp"
#include "ops/route/route.hpp"

namespace redline::ops::route {

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, experts, choices;
    double deviation;
    bool quick;
  };
  constexpr Size kSizes[] = {{1, 256, 8, 1, true},   {3, 512, 10, 2, true},  {65, 16, 4, 1, true},
                             {2, 1, 1, 1, true},     {7, 9, 9, 20, true},    {5, 64, 8, 0, true},
                             {5, 64, 8, 0.02, true}, {300, 256, 8, 1, false}};
  std::vector<Case<Args>> all;
  for (const Size& size : kSizes) {
    for (const DType dtype : {DType::BF16, DType::F32}) {
      all.push_back({fmt::format("rows={} experts={} choices={} deviation={} {}", size.rows, size.experts,
                                 size.choices, size.deviation, name_of(dtype)),
                     size.quick, [size, dtype](CaseBuilder& build) {
                       return Args{
                           .logits = build.normal(dtype, {size.rows, size.experts}, size.deviation, 1),
                           .experts = build.output(DType::I32, {size.rows, size.choices}),
                           .weights = build.output(DType::F32, {size.rows, size.choices})};
                     }});
    }
  }
  all.push_back({"zeros of both signs are equal", true, [](CaseBuilder& build) {
                   const TensorView logits = build.zeros(DType::F32, {1, 20});
                   for (std::int64_t e = 0; e < 20; ++e) store(logits, {0, e}, e % 3 == 0 ? -0.0 : 0.0);
                   return Args{.logits = logits,
                               .experts = build.output(DType::I32, {1, 5}),
                               .weights = build.output(DType::F32, {1, 5})};
                 }});
  return all;
}

}  // namespace redline::ops::route
