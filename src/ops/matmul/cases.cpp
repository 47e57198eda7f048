// The shapes that tests and tuner walk through: every weight scheme, row counts at and around tile borders,
// widths that leave tails.
#include <fmt/format.h>

#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul {
std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, in, out;
    int parts;
    bool quick;
  };
  constexpr Size kSizes[] = {{1, 64, 48, 1, true},     {1, 320, 130, 2, true},    {2, 256, 129, 1, true},
                             {3, 144, 96, 2, true},    {5, 272, 33, 1, true},     {17, 208, 70, 2, true},
                             {65, 128, 200, 1, true},  {1, 16, 1, 1, true},       {1, 2048, 512, 2, false},
                             {8, 1024, 384, 1, false}, {130, 512, 264, 2, false}, {4, 4096, 131, 1, false}};
  std::vector<Case<Args>> all;
  for (const quant::NamedScheme& weight : quant::every_scheme()) {
    for (const Size& size : kSizes) {
      for (const DType y : {DType::BF16, DType::F32}) {
        if (y == DType::F32 && size.rows != 3) continue;
        all.push_back({fmt::format("rows={} in={} out={} parts={} {} y={}", size.rows, size.in, size.out,
                                   size.parts, weight.name, name_of(y)),
                       size.quick, [weight, size, y](CaseBuilder& build) {
                         return Args{.x = build.normal(DType::BF16, {size.rows, size.in}),
                                     .weight = &build.weight(weight.scheme, 1, size.out, size.in, size.parts),
                                     .y = build.output(y, {size.rows, size.out})};
                       }});
      }
    }
  }
  return all;
}

}  // namespace redline::ops::matmul
