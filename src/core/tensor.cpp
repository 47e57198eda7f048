// Text and strides of shapes.
#include "core/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace redline {

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]",
                     fmt::join(std::span(shape.sizes).first(static_cast<std::size_t>(shape.dims)), ", "));
}

TensorView dense_view(void* data, DType dtype, const Shape& shape, Place place) {
  TensorView view{.data = data, .dtype = dtype, .place = place, .shape = shape};
  std::int64_t stride = 1;
  for (int i = shape.dims - 1; i >= 0; --i) {
    view.strides[static_cast<std::size_t>(i)] = stride;
    stride *= shape[i];
  }
  return view;
}

}  // namespace redline
