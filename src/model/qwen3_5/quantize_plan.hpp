// What `quantize` does to each tensor of a BF16 checkpoint: which weights become what (precision.hpp), which
// of them share a scale, and what they are called in the new files.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/rewrite.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/precision.hpp"

namespace redline::model::qwen3_5 {

// Units follow the layers, so that shards do. Routed experts that are fused in the source and quantised by
// the plan are written one by one, as every publisher of a quantised format does. Where a head that is tied
// to the embedding is quantised, a copy is added.
struct QuantizePlan {
  std::vector<checkpoint::RewriteUnit> units;
  bool unties_head = false;
};

// Throws BadInput where the files are quantised already, hold no bytes, or where the plan has nothing to
// quantise; BadCheckpoint for what would keep the model from being loaded; Unsupported for shapes that a
// format cannot hold.
QuantizePlan plan_quantization(const Config& config, const checkpoint::Checkpoint& files,
                               Precision precision);

}  // namespace redline::model::qwen3_5
