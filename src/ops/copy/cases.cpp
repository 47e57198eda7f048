// Odd sizes, one slot to several places, slots that nobody touches, within one tensor and between two.
#include <fmt/format.h>

#include "ops/copy/copy.hpp"

namespace redline::ops::copy {
namespace {

TensorView bytes_of(const TensorView& floats) {
  return dense_view(floats.data, DType::U8, {floats.shape[0], floats.shape[1] * 4});
}

}  // namespace

std::vector<Case<Args>> cases() {
  std::vector<Case<Args>> all;
  for (const std::int64_t bytes : {1, 13, 64, 4099, 70000}) {
    all.push_back({fmt::format("between two, bytes={}", bytes), bytes < 70000, [=](CaseBuilder& build) {
                     const TensorView words = build.random_integers({5, (bytes + 3) / 4}, 1 << 30);
                     TensorView from = dense_view(words.data, DType::U8, {5, bytes});
                     from.strides[0] = (bytes + 3) / 4 * 4;
                     return Args{.from = from,
                                 .to = build.output(DType::U8, {7, bytes}),
                                 .from_index = build.integers({4, 0, 4, 2}),
                                 .to_index = build.integers({6, 1, 0, 3})};
                   }});
  }
  for (const std::int64_t floats : {3, 1000}) {
    all.push_back({fmt::format("within one, floats={}", floats), true, [=](CaseBuilder& build) {
                     const TensorView slots = bytes_of(build.normal_in_out(DType::F32, {9, floats}));
                     return Args{.from = slots,
                                 .to = slots,
                                 .from_index = build.integers({8, 1, 1}),
                                 .to_index = build.integers({0, 2, 5})};
                   }});
  }
  all.push_back({"nothing to copy", true, [](CaseBuilder& build) {
                   const TensorView slots = bytes_of(build.normal_in_out(DType::F32, {2, 8}));
                   return Args{.from = slots,
                               .to = slots,
                               .from_index = build.integers(std::vector<std::int32_t>{}),
                               .to_index = build.integers(std::vector<std::int32_t>{})};
                 }});
  return all;
}

}  // namespace redline::ops::copy
