// Where numbers lie and how to walk them: Shape and TensorView. Both own nothing and are free to copy.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/dtype.hpp"

namespace redline {

enum class Place : std::uint8_t { Host, Pinned, Gpu };

// At most five dimensions (the vision tower's patch embedding has five). No dimensions: a scalar, one
// element.
struct Shape {
  static constexpr int kMaxDims = 5;
  std::array<std::int64_t, kMaxDims> sizes{};
  int dims = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> list) {
    for (std::int64_t size : list) sizes[static_cast<std::size_t>(dims++)] = size;
  }
  constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < dims; ++i) product *= sizes[static_cast<std::size_t>(i)];
    return product;
  }
  constexpr std::int64_t operator[](int i) const { return sizes[static_cast<std::size_t>(i)]; }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

std::string to_text(const Shape& shape);  // "[5120, 1088]", "[]"

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::BF16;
  Place place = Place::Host;
  Shape shape;
  std::array<std::int64_t, Shape::kMaxDims> strides{};  // in elements
};

// A view of rows stored one after another, last dimension fastest.
TensorView dense_view(void* data, DType dtype, const Shape& shape, Place place = Place::Host);

}  // namespace redline
