// The uses of the model: whole rows with and without residual, heads with a gate, into one half of a wider
// row; both kinds of weight, odd widths.
#include <fmt/format.h>

#include "ops/norm/norm.hpp"

namespace redline::ops::norm {
namespace {

// The left or right half of rows twice as wide.
TensorView half(TensorView whole, std::int64_t groups, std::int64_t width, bool right) {
  if (right) whole.data = static_cast<std::byte*>(whole.data) + groups * width * bits_of(whole.dtype) / 8;
  whole.shape = {whole.shape[0], groups, width};
  whole.strides = {2 * groups * width, width, 1};
  return whole;
}

}  // namespace

std::vector<Case<Args>> cases() {
  struct Size {
    std::int64_t rows, groups, width;
    bool quick;
  };
  constexpr Size kSizes[] = {
      {1, 1, 1024, true}, {1, 1, 1, true},    {3, 1, 130, true},   {2, 3, 15, true},    {5, 16, 128, true},
      {65, 2, 48, true},  {1, 1, 5120, true}, {70, 1, 1024, true}, {2, 64, 128, false}, {33, 1, 2048, false}};
  std::vector<Case<Args>> all;
  for (const Size& size : kSizes) {
    for (int use = 0; use < 5; ++use) {
      for (const DType dtype : {DType::BF16, DType::F32}) {
        if (dtype == DType::F32 && size.rows > 5) continue;
        constexpr const char* kUses[] = {"plain", "residual", "gate", "zero-centred, F32 weight", "strided"};
        all.push_back({fmt::format("rows={} groups={} width={} {} {}", size.rows, size.groups, size.width,
                                   name_of(dtype), kUses[use]),
                       size.quick, [size, use, dtype](CaseBuilder& build) {
                         const Shape shape{size.rows, size.groups, size.width};
                         const Shape wide{size.rows, 2 * size.groups * size.width};
                         Args args{
                             .x = use == 4 ? half(build.normal(dtype, wide, 3), size.groups, size.width, true)
                                           : build.normal(dtype, shape, 3),
                             .weight = build.normal(use == 3 ? DType::F32 : DType::BF16, {size.width}, 0.3,
                                                    use == 2 ? 1 : 0),
                             .epsilon = use == 3 ? 1e-2f : 1e-6f,
                             .zero_centred = use == 1 || use == 3 || use == 4};
                         args.y = build.output(dtype, shape);
                         if (use == 1) args.residual = build.normal_in_out(dtype, shape, 5);
                         if (use == 2) args.gate = build.normal(dtype, shape, 4);
                         if (use == 4)
                           args.gate = half(build.normal(dtype, wide, 4), size.groups, size.width, false);
                         return args;
                       }});
      }
    }
  }
  all.push_back({"rows of zeros, gates far out", true, [](CaseBuilder& build) {
                   TensorView gate = build.normal(DType::F32, {4, 1, 40}, 100);
                   return Args{.x = build.zeros(DType::BF16, {4, 1, 40}),
                               .weight = build.normal(DType::BF16, {40}),
                               .y = build.output(DType::BF16, {4, 1, 40}),
                               .gate = gate};
                 }});
  all.push_back({"gates far out", true, [](CaseBuilder& build) {
                   TensorView gate = build.normal(DType::F32, {4, 1, 40}, 100);
                   return Args{.x = build.normal(DType::BF16, {4, 1, 40}),
                               .weight = build.normal(DType::BF16, {40}),
                               .y = build.output(DType::BF16, {4, 1, 40}),
                               .gate = gate};
                 }});
  all.push_back({"both halves of a wider y", true, [](CaseBuilder& build) {
                   // y is compared as the whole [5, 2 * 70]; the norm of groups as wide as a half writes all
                   // of it.
                   const TensorView y = build.output(DType::BF16, {5, 140});
                   TensorView split = y;
                   split.shape = {5, 2, 70};
                   split.strides = {140, 70, 1};
                   return Args{.x = build.normal(DType::BF16, {5, 2, 70}),
                               .weight = build.normal(DType::BF16, {70}),
                               .y = split};
                 }});
  return all;
}

}  // namespace redline::ops::norm
