// The Scheme of a weight, decided from the tensors that lie beside it; config.json may only confirm
// (docs/formats.md, "Recognising a format").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "checkpoint/checkpoint.hpp"
#include "quant/scheme.hpp"

namespace redline::checkpoint {

// A weight with everything that belongs to it. Pointers are into the checkpoint; null where there is none.
struct Weight {
  quant::Scheme scheme;
  std::int64_t count = 1;  // matrices: experts of a fused [experts, out, in] tensor, else 1
  std::int64_t rows = 0,
               columns = 0;       // logical [out, in], two codes to a byte unpacked; 0, 0: shape not known
  const Tensor* codes = nullptr;  // X.weight, X.weight_packed, or a fused expert tensor without ".weight"
  const Tensor* scale = nullptr;  // weight_scale, weight_scale_inv
  const Tensor* tensor_scale = nullptr;  // weight_scale_2, weight_global_scale, or a scalar FP8 weight_scale
  const Tensor* input_scale = nullptr;   // input_scale, input_global_scale: optional, never required
};

// `module` without ".weight": "model.layers.3.mlp.experts.7.gate_proj". nullopt: no such weight. Throws
// BadCheckpoint, naming the tensors, when the ones present fit no format or contradict each other's shapes
// (found and expected), and Unsupported for experts that are quantised and fused in one tensor. Where shapes
// are not known (names only), names alone decide and nothing is checked.
std::optional<Weight> find_weight(const Checkpoint& files, std::string_view module);

}  // namespace redline::checkpoint
