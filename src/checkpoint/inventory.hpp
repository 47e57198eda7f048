// What a model has taken from a checkpoint. When all is taken, nothing may be left over and nothing may be
// missing: a tensor that nobody asks for is as much a sign of a wrong reading as one that is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/tensor_scheme.hpp"

namespace redline::checkpoint {

class Inventory {
 public:
  explicit Inventory(const Checkpoint& files);

  const Checkpoint& files() const { return *files_; }

  // nullptr: not there. Taking does not make a tensor needed; whoever needs it calls miss().
  const Tensor* take(std::string_view internal_name);
  // A weight with its scales. nullopt: not there. Throws BadCheckpoint like find_weight, after taking what
  // stands beside it, so that a broken weight is one fault and not also a left-over.
  std::optional<Weight> take_weight(std::string_view module);
  void miss(std::string name) { missing_.push_back(std::move(name)); }
  bool is_taken(const Tensor& tensor) const { return taken_[index_of(tensor)] != 0; }
  void mark(const Tensor& tensor) { taken_[index_of(tensor)] = 1; }

  std::span<const std::string> missing() const { return missing_; }
  std::vector<const Tensor*> left_over() const;

  // One sentence for each kind of trouble, with the first few names and the count; empty: all is well.
  std::vector<std::string> troubles() const;
  void check() const;  // throws the first of troubles() as BadCheckpoint

 private:
  std::size_t index_of(const Tensor& tensor) const;

  const Checkpoint* files_;
  std::vector<std::uint8_t> taken_;
  std::vector<std::string> missing_;
};

// "a, b, c and 4 more": the first few names of a list that may be long.
std::string first_few(std::span<const std::string> names);

}  // namespace redline::checkpoint
