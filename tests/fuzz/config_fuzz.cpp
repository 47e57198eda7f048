// config.json as foreign bytes: it is refused with our Error, or it gives a Config whose numbers belong
// together and a reading of what it declares as quantised, for which any module may be asked. A zero byte
// ends config.json; what follows it is hf_quant_config.json.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/config_reader.hpp"
#include "checkpoint/quantization_config.hpp"
#include "core/error.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/weights.hpp"

using namespace redline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t border = bytes.find('\0');
  try {
    const checkpoint::ConfigValue config = checkpoint::parse_config(bytes.substr(0, border), "config.json");
    std::optional<checkpoint::ConfigValue> other;
    if (border != std::string_view::npos) {
      other = checkpoint::parse_config(bytes.substr(border + 1), "hf_quant_config.json");
    }
    const auto declared = checkpoint::QuantizationConfig::read(config, other);
    for (const std::string_view module : {"lm_head", "model.layers.0.mlp.experts.7.gate_proj",
                                          "model.layers.11.self_attn.q_proj", "mtp.fc", ""}) {
      declared.declared(module);
    }
    const model::qwen3_5::Config read = model::qwen3_5::read_config(config);
    model::qwen3_5::check(read, "config.json");
    if (read.layers <= 200) {
      for (const model::qwen3_5::Part& part : model::qwen3_5::parts_of(read)) {
        if (model::qwen3_5::parameters_of(part) < 0) __builtin_trap();  // an overflow
      }
      model::qwen3_5::vision_parts_of(read);
    }
  } catch (const Error&) {
    // Refused with a sentence, as it should be.
  }
  return 0;
}
