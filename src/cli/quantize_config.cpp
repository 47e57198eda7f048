// The lists follow from the plan: nothing about a model is written down here but the words for it.
#include "cli/quantize_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/names.hpp"
#include "core/error.hpp"

namespace redline::cli {
namespace {

using checkpoint::RewriteUnit;
using model::qwen3_5::Precision;
using model::qwen3_5::QuantizePlan;
using Json = nlohmann::ordered_json;

// Readers know ModelOpt's layout by this name; the version says who wrote the files.
Json producer() { return {{"name", "modelopt"}, {"version", "0+redline.0.1.0"}}; }

bool is_internal(std::string_view on_disk, std::string_view internal_prefix) {
  const checkpoint::InternalName name = checkpoint::internal_name(on_disk);
  return fmt::format("{}{}", name.head, name.tail).starts_with(internal_prefix);
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

// Names on disk of what is kept and could be taken for a linear layer: matrices, without ".weight".
std::vector<std::string> kept_modules(const QuantizePlan& plan) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<std::string> modules;
  for (const RewriteUnit& unit : plan.units) {
    if (unit.kept == nullptr || unit.kept->shape.dims < 2) continue;
    std::string_view name = unit.kept->name_on_disk;
    if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
    modules.emplace_back(name);
  }
  return modules;
}

// "….layers.3.linear_attn" of "….layers.3.linear_attn.in_proj_a"; "" outside the layers.
std::string block_of(std::string_view module) {
  const std::size_t layers = module.find(".layers.");
  if (layers == std::string_view::npos) return "";
  const std::size_t number_end = module.find('.', layers + 8);
  if (number_end == std::string_view::npos) return "";
  for (const std::string_view block : {"linear_attn.", "self_attn.", "mlp.shared_expert."}) {
    if (module.substr(number_end + 1).starts_with(block)) {
      return std::string(module.substr(0, number_end + block.size()));
    }
  }
  return "";
}

// ModelOpt's list of what is not quantised: a wildcard where a whole block is kept, names elsewhere.
Json modelopt_ignore(const QuantizePlan& plan, bool mtp_only) {
  std::vector<std::string> quantised;
  for (const RewriteUnit& unit : plan.units) {
    if (unit.kept == nullptr) add_once(quantised, block_of(unit.module));
  }
  bool head_is_quantised = false;
  for (const RewriteUnit& unit : plan.units)
    head_is_quantised |= unit.kept == nullptr && unit.label == "head";
  std::vector<std::string> ignore, last;
  if (!mtp_only && !head_is_quantised) ignore.emplace_back("lm_head");
  for (const std::string& module : kept_modules(plan)) {
    if (is_internal(module, "mtp.")) {
      const std::string prefix = module.substr(0, module.find("mtp.") + 3);
      add_once(last, prefix + ".layers.0*");
      add_once(last, prefix + "*");
    } else if (is_internal(module, "visual.")) {
      const std::string_view inside =
          checkpoint::internal_name(module).tail;  // with "visual." if that is all
      const std::size_t prefix =
          inside.size() == module.size() ? module.find('.') : module.size() - inside.size() - 1;
      if (!mtp_only) add_once(last, module.substr(0, prefix) + "*");
    } else if (!mtp_only && module.find(".layers.") != std::string::npos) {
      const std::string block = block_of(module);
      const bool whole =
          !block.empty() && std::find(quantised.begin(), quantised.end(), block) == quantised.end();
      add_once(ignore, whole ? block + "*" : module);
    }
  }
  ignore.insert(ignore.end(), last.begin(), last.end());
  return ignore;
}

Json bits(int count) {
  Json json = {{"dynamic", false}, {"num_bits", count}, {"type", "float"}};
  if (count == 4) json["group_size"] = 16;
  return json;
}

// Only the weights are NVFP4: scales for activations would have to be measured on text.
QuantizedConfigs with_nvfp4(Json config, const QuantizePlan& plan) {
  const Json ignore = modelopt_ignore(plan, false);
  config["quantization_config"] = {
      {"config_groups", {{"group_0", {{"weights", bits(4)}, {"targets", Json::array({"Linear"})}}}}},
      {"ignore", ignore},
      {"producer", producer()},
      {"quant_algo", "W4A16_NVFP4"},
      {"quant_method", "modelopt"}};
  const Json other = {{"producer", producer()},
                      {"quantization",
                       {{"quant_algo", "W4A16_NVFP4"},
                        {"kv_cache_quant_algo", nullptr},
                        {"group_size", 16},
                        {"exclude_modules", ignore}}}};
  return {config.dump(2) + "\n", other.dump(2) + "\n"};
}

// All experts of a layer go by one name.
std::string listed_name(const std::string& module) {
  constexpr std::string_view kExperts = ".mlp.experts.";
  const std::size_t at = module.find(kExperts);
  return at == std::string::npos ? module : module.substr(0, at + kExperts.size() - 1);
}

QuantizedConfigs with_mixed(Json config, const QuantizePlan& plan) {
  Json layers = Json::object();
  std::array<Json, 2> targets = {Json::array(), Json::array()};  // FP8, NVFP4
  for (const RewriteUnit& unit : plan.units) {
    if (unit.kept != nullptr) continue;
    const std::string name = listed_name(unit.module);
    if (layers.contains(name)) continue;
    const bool fp8 = unit.format == quant::Format::Fp8Tensor;
    layers[name] =
        fp8 ? Json{{"quant_algo", "FP8"}} : Json{{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}};
    targets[fp8 ? 0 : 1].push_back(name);
  }
  const Json ignore = modelopt_ignore(plan, true);
  config["quantization_config"] = {
      {"config_groups",
       {{"group_0", {{"input_activations", bits(8)}, {"weights", bits(8)}, {"targets", targets[0]}}},
        {"group_1", {{"weights", bits(4)}, {"targets", targets[1]}}}}},
      {"ignore", ignore},
      {"producer", producer()},
      {"quant_algo", "MIXED_PRECISION"},
      {"quant_method", "modelopt"},
      {"quantized_layers", layers}};
  const Json other = {{"producer", producer()},
                      {"quantization",
                       {{"quant_algo", "MIXED_PRECISION"},
                        {"kv_cache_quant_algo", nullptr},
                        {"quantized_layers", layers},
                        {"exclude_modules", ignore}}}};
  return {config.dump(2) + "\n", other.dump(2) + "\n"};
}

QuantizedConfigs with_fp8(Json config, const QuantizePlan& plan) {
  std::vector<std::string> kept = kept_modules(plan);
  add_once(kept, "lm_head");  // tied or not, it is a module
  config["quantization_config"] = {{"activation_scheme", "dynamic"},
                                   {"fmt", "e4m3"},
                                   {"modules_to_not_convert", kept},
                                   {"quant_method", "fp8"},
                                   {"weight_block_size", {128, 128}}};
  return {config.dump(2) + "\n", std::nullopt};
}

}  // namespace

QuantizedConfigs quantized_configs(std::string_view source, const std::string& name, const QuantizePlan& plan,
                                   Precision precision) {
  Json config = Json::parse(source, nullptr, /*allow_exceptions=*/false);
  ensure(config.is_object(), ErrorKind::BadCheckpoint, "{}: expected a JSON object", name);
  // A reader that ties the head to the embedding would never look at the quantised copy.
  if (plan.unties_head) {
    config["tie_word_embeddings"] = false;
    if (config.contains("text_config") && config["text_config"].is_object()) {
      config["text_config"]["tie_word_embeddings"] = false;
    }
  }
  config.erase("quantization_config");
  switch (precision) {
    case Precision::Fp8:
      return with_fp8(std::move(config), plan);
    case Precision::Mixed:
      return with_mixed(std::move(config), plan);
    default:
      return with_nvfp4(std::move(config), plan);
  }
}

}  // namespace redline::cli
