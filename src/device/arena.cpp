// Bump allocation.
#include "device/arena.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace redline {

Arena::Arena(Device& device, std::size_t bytes, Place place)
    : buffer_(device.allocate(bytes, place)), capacity_(bytes), place_(place) {}

Arena Arena::counting(Place place) {
  Arena arena;
  arena.capacity_ = kUnlimited;
  arena.place_ = place;
  return arena;
}

void* Arena::take_bytes(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  ensure(rounded <= capacity_ - used_,
         "the arena of {} bytes has {} left and {} are asked for: its dry run missed an operator", capacity_,
         capacity_ - used_, rounded);
  void* data = is_counting() ? nullptr : static_cast<std::byte*>(buffer_.data()) + used_;
  used_ += rounded;
  high_water_ = std::max(high_water_, used_);
  return data;
}

TensorView Arena::take(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>((shape.elements() * bits_of(dtype) + 7) / 8);
  return dense_view(take_bytes(bytes), dtype, shape, place_);
}

}  // namespace redline
