// What config.json and hf_quant_config.json of a quantised checkpoint say, in the words of the publishers:
// ModelOpt's for NVFP4 and FP8 per tensor, the official ones for FP8 in blocks. docs/quantize.md has the
// reasons.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/qwen3_5/quantize_plan.hpp"

namespace redline::cli {

struct QuantizedConfigs {
  std::string config;                          // the source's, with quantization_config
  std::optional<std::string> hf_quant_config;  // ModelOpt's
};

// `source` is the text of the source's config.json, called `name` in messages.
QuantizedConfigs quantized_configs(std::string_view source, const std::string& name,
                                   const model::qwen3_5::QuantizePlan& plan,
                                   model::qwen3_5::Precision precision);

}  // namespace redline::cli
