// The tensors that stand for a weight in a file, for each format that redline writes or makes up: the other
// direction of tensor_scheme.hpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/tensor.hpp"
#include "quant/scheme.hpp"

namespace redline::checkpoint {

struct StoredTensor {
  std::string_view suffix;  // to the module's name: ".weight", ".weight_scale", …
  DType dtype;
  Shape shape;
};

// A weight [rows, columns] as the publisher of its format stores it. A scale for activations is always there
// in FP8 per tensor, whose readers need one; in NVFP4 only where somebody measured it.
enum class Nvfp4InputScale : std::uint8_t { None, Stored };
std::vector<StoredTensor> stored_tensors(quant::Format format, std::int64_t rows, std::int64_t columns,
                                         Nvfp4InputScale input_scale);

}  // namespace redline::checkpoint
