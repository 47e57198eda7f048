// A weight as the matrix products read it: [out, in] elements in some layout, with its scales. Plain layout
// lies where the checkpoint has it (on a CPU: straight from the memory map, no copy); other layouts are
// packed at load for one family of candidates.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.hpp"
#include "device/buffer.hpp"
#include "quant/scheme.hpp"

namespace redline::ops {

enum class Layout : std::uint8_t {
  Plain,  // rows one after another as on disk; NVFP4: two codes to a byte, low nibble = even column; scales
          // in plain rows
};

// Some rows of a matrix that share one scalar: gate_proj and up_proj of one fused gate_up have one part each.
struct WeightPart {
  const void* elements = nullptr;  // [rows, in] of scheme.element
  const void* scales = nullptr;  // NVFP4: e4m3 [rows, in / 16]. FP8 128x128: [⌈rows/128⌉, ⌈in/128⌉]. Per
                                 // channel: [rows]. else null
  float multiplier =
      1;  // of the whole part: weight_scale_2, 1 / weight_global_scale, a per-tensor weight_scale
  std::int64_t rows = 0;
};

// `matrices` equal matrices (experts; 1 otherwise), each made of `parts_per_matrix` parts stacked along out.
struct PackedWeight {
  quant::Scheme scheme;
  Layout layout = Layout::Plain;
  std::int64_t matrices = 1, out = 0, in = 0;
  std::int64_t parts_per_matrix = 1;
  std::vector<WeightPart> parts;  // [matrices * parts_per_matrix]
  Place place = Place::Host;
  std::vector<Buffer> owned;  // what parts point into, when it is not the checkpoint's memory map

  const WeightPart& part(std::int64_t matrix, std::int64_t index) const {
    return parts[static_cast<std::size_t>(matrix * parts_per_matrix + index)];
  }
};

// The value of one element, exactly, in double: what references use.
double element(const PackedWeight& weight, std::int64_t matrix, std::int64_t row, std::int64_t column);
std::int64_t bytes_of(const PackedWeight& weight);  // with scales
std::int64_t bytes_per_matrix(const PackedWeight& weight);

}  // namespace redline::ops
