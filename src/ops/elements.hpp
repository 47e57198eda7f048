// Single elements of host tensors as double, whatever their type: for references, cases and comparisons,
// where clarity counts and speed does not.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor.hpp"

namespace redline::ops {

using Index = std::array<std::int64_t, Shape::kMaxDims>;

double load(const TensorView& view, const Index& index);  // unused dimensions 0
void store(const TensorView& view, const Index& index,
           double value);                                       // rounds to the view's type, to nearest even
std::int32_t load_int(const TensorView& view, std::int64_t i);  // one-dimensional I32

// Calls body(Index) for every element in order.
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  if (shape.elements() == 0) return;
  Index index{};
  while (true) {
    body(index);
    int d = shape.dims - 1;
    for (; d >= 0; --d) {
      if (++index[static_cast<std::size_t>(d)] < shape[d]) break;
      index[static_cast<std::size_t>(d)] = 0;
    }
    if (d < 0) return;
  }
}

// Distance between neighbouring values of a type, relative to the larger: 2^-8 for BF16 (7 stored bits),
// halved for rounding to nearest.
constexpr double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 0x1p-8;
    case DType::F16:
      return 0x1p-11;
    case DType::F8E4M3:
      return 0x1p-4;
    default:
      return 0x1p-24;
  }
}

}  // namespace redline::ops
