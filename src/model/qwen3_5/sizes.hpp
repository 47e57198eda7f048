// The published sizes, and `synthetic:NAME[@PRECISION]`: a checkpoint with the names, shapes and dtypes that
// the published files of that size and precision have, and no bytes. Vision towers are left out, as a text
// engine would not load them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/precision.hpp"

namespace redline::model::qwen3_5 {

std::span<const std::string_view> published_sizes();  // "qwen3.5-0.8b", …
Config published_config(std::string_view size);       // BadInput for another name, with those that are known

struct Synthetic {
  Config config;
  Precision precision = Precision::Bf16;
  checkpoint::Checkpoint files;
};
inline constexpr std::string_view kSyntheticPrefix = "synthetic:";

// BadInput: a name or precision that is not known, `experts` of a size without experts.
Synthetic make_synthetic(
    std::string_view name);  // "synthetic:qwen3.5-35b-a3b@mixed"; bf16 where no precision is named

}  // namespace redline::model::qwen3_5
