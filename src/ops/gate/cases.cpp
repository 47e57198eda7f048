// Two halves of one tensor as the feed-forward block has them, tensors of their own, odd widths, gates far
// out on both sides.
#include <fmt/format.h>

#include "ops/gate/gate.hpp"

namespace redline::ops::gate {

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, width;
    double deviation;
    bool quick;
  };
  constexpr Size kSizes[] = {{1, 3584, 2, true}, {1, 1, 1, true},   {3, 130, 4, true},
                             {65, 48, 2, true},  {4, 77, 60, true}, {40, 2050, 3, false}};
  std::vector<Case<Args>> all;
  for (const Size& size : kSizes) {
    for (const Kind kind : {Kind::SiluMul, Kind::SigmoidMul}) {
      for (const DType dtype : {DType::BF16, DType::F32}) {
        const std::string name =
            fmt::format("rows={} width={} deviation={} {} {}", size.rows, size.width, size.deviation,
                        name_of(dtype), kind == Kind::SiluMul ? "silu" : "sigmoid");
        all.push_back(
            {name + " halves", size.quick, [=](CaseBuilder& build) {
               TensorView a = build.normal(dtype, {size.rows, 2 * size.width}, size.deviation);
               a.shape = {size.rows, size.width};
               TensorView b = a;
               b.data = static_cast<std::byte*>(a.data) + size.width * bits_of(dtype) / 8;
               return Args{.kind = kind, .a = a, .b = b, .y = build.output(dtype, {size.rows, size.width})};
             }});
        if (size.rows == 3) {
          all.push_back({name, size.quick, [=](CaseBuilder& build) {
                           return Args{
                               .kind = kind,
                               .a = build.normal(DType::BF16, {size.rows, size.width}, size.deviation),
                               .b = build.normal(DType::F32, {size.rows, size.width}),
                               .y = build.output(dtype, {size.rows, size.width})};
                         }});
        }
      }
    }
  }
  return all;
}

}  // namespace redline::ops::gate
