// With and without a shared expert; gates far out; odd widths.
#include <fmt/format.h>

#include "ops/combine/combine.hpp"

namespace redline::ops::combine {

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, choices, width;
    double gate;
    bool quick;
  };
  constexpr Size kSizes[] = {{1, 8, 2048, 1, true},
                             {1, 1, 1, 1, true},
                             {3, 10, 130, 5, true},
                             {33, 2, 65, 60, true},
                             {70, 8, 1024, 2, false}};
  std::vector<Case<Args>> all;
  for (const Size& size : kSizes) {
    for (const bool shared : {true, false}) {
      for (const DType dtype : {DType::BF16, DType::F32}) {
        if (dtype == DType::F32 && size.rows > 3) continue;
        all.push_back({fmt::format("rows={} choices={} width={} {}{}", size.rows, size.choices, size.width,
                                   name_of(dtype), shared ? " shared" : ""),
                       size.quick, [=](CaseBuilder& build) {
                         Args args{.routed = build.normal(dtype, {size.rows * size.choices, size.width}),
                                   .weights = build.normal(DType::F32, {size.rows, size.choices}, 0.2, 0.3),
                                   .y = build.output(dtype, {size.rows, size.width})};
                         if (shared) {
                           args.shared = build.normal(dtype, {size.rows, size.width}, 2);
                           args.shared_gate = build.normal(dtype, {size.rows, 1}, size.gate);
                         }
                         return args;
                       }});
      }
    }
  }
  return all;
}

}  // namespace redline::ops::combine
