// Bump allocator for activations and scratch. The same calls in the same order give the same addresses, which
// is what keeps a captured graph valid. Nothing is freed one by one: reset() at each step, or Arena::Scope
// for what an operator needs briefly.
#pragma once

#include <cstddef>

#include "core/tensor.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"

namespace redline {

class Arena {
 public:
  static constexpr std::size_t kAlignment =
      256;  // bytes; a GPU's widest access and every CPU vector divide it

  Arena(Device& device, std::size_t bytes, Place place);
  // Hands out null addresses and only counts: a dry run of a step tells how large the arena must be.
  static Arena counting(Place place);

  TensorView take(DType dtype,
                  const Shape& shape);  // dense; Error (Internal) when full, with what to enlarge
  void* take_bytes(std::size_t bytes);
  void reset() { used_ = 0; }
  std::size_t used() const { return used_; }
  std::size_t high_water() const { return high_water_; }
  bool is_counting() const { return capacity_ == kUnlimited; }

  // Gives back at its end what was taken since its start.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), used_(arena.used_) {}
    ~Scope() { arena_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t used_;
  };

 private:
  static constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);
  Arena() = default;

  Buffer buffer_;
  std::size_t capacity_ = 0, used_ = 0, high_water_ = 0;
  Place place_ = Place::Host;
};

}  // namespace redline
