// The ways in which a whole model is stored, by the names that people use, and what each means for every
// part. `synthetic:` names and `quantize` both ask here, so that a plan is written down once.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/qwen3_5/weights.hpp"
#include "quant/scheme.hpp"

namespace redline::model::qwen3_5 {

enum class Precision : std::uint8_t {
  Bf16,
  Fp8,  // official: everything but router, gates, conv, norms, embedding, head in blocks of 128 by 128; MTP
        // layer too
  Experts,  // routed experts NVFP4, all else BF16
  Mixed,    // MLP, experts, shared expert, head NVFP4; attention and delta-net projections FP8 per tensor
  Nvfp4,    // all of these NVFP4
};
std::string_view name_of(Precision precision);  // "bf16", "fp8", "experts", "mixed", "nvfp4"

// BadInput for another name, with those that are known.
Precision precision_of(std::string_view name);

// The format in which the plan stores the matrices of a part. BF16 for everything that is never quantised.
quant::Format format_in(const Part& part, Precision precision);

}  // namespace redline::model::qwen3_5
