// What one rendering may use. A template comes with a checkpoint and its input from a request, so neither may
// take all time or memory: range(10**5) inside itself, 'a' * 10**9, a list doubled forty times all end with a
// sentence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace redline::text::jinja {

struct Limits {
  std::uint64_t steps = 50'000'000;                   // expressions and items looked at: seconds of one core
  std::size_t work_bytes = std::size_t{1} << 30;      // strings and lists made, all together
  std::size_t output_bytes = std::size_t{256} << 20;  // and any single string
  int call_depth = 400;  // nested evaluation, macros included; about 1 KB of stack each
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}
  const Limits& limits() const { return limits_; }

  void step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) [[unlikely]]
      out_of_steps();
  }
  // Called before the bytes are allocated.
  void charge(std::uint64_t bytes) {
    work_bytes_ += bytes;
    if (bytes > limits_.output_bytes || work_bytes_ > limits_.work_bytes) [[unlikely]]
      out_of_bytes();
  }
  void charge_items(std::uint64_t count);  // a list of that many values

 private:
  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void out_of_bytes() const;

  Limits limits_;
  std::uint64_t steps_ = 0;
  std::uint64_t work_bytes_ = 0;
};

}  // namespace redline::text::jinja
