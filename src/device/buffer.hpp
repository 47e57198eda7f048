// Owns bytes on one device. Move only; gives them back when it goes.
#pragma once

#include <cstddef>
#include <utility>

#include "core/tensor.hpp"

namespace redline {

class Buffer {
 public:
  using Release = void (*)(void* data, std::size_t bytes) noexcept;

  Buffer() = default;
  Buffer(void* data, std::size_t bytes, Place place, Release release)
      : data_(data), bytes_(bytes), place_(place), release_(release) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        place_(other.place_),
        release_(other.release_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      free();
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
      place_ = other.place_;
      release_ = other.release_;
    }
    return *this;
  }
  ~Buffer() { free(); }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Place place() const { return place_; }

 private:
  void free() noexcept {
    if (data_ != nullptr) release_(data_, bytes_);
    data_ = nullptr;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Place place_ = Place::Host;
  Release release_ = nullptr;
};

}  // namespace redline
