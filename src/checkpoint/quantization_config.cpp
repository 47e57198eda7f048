// Reads the three methods into one set of rules: names that stay as they are, names with a format, "every
// linear module".
#include "checkpoint/quantization_config.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

// Published configs spell modules as the wrapper class does, whatever the tensors beside them are called.
std::vector<std::string> spellings_of(std::string_view module) {
  std::vector<std::string> names{std::string(module)};
  constexpr std::string_view kText = "model.";
  if (module.starts_with(kText)) {
    names.push_back(fmt::format("model.language_model.{}", module.substr(kText.size())));
    names.push_back(fmt::format("language_model.model.{}", module.substr(kText.size())));
  } else {
    names.push_back(fmt::format("language_model.{}", module));
    names.push_back(fmt::format("model.{}", module));
  }
  return names;
}

// Published files keep these as they are, and their lists often forget to say so: the router is missing from
// ModelOpt's exclude_modules, and so is mtp.fc.
bool is_never_quantised(std::string_view module) {
  constexpr std::array<std::string_view, 6> kEnds = {
      ".mlp.gate", ".mlp.shared_expert_gate", ".in_proj_a", ".in_proj_b", ".conv1d", ".embed_tokens"};
  return module == "mtp.fc" ||
         std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) { return module.ends_with(end); });
}

std::optional<ConfigValue> find_quantization(const ConfigValue& config) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (std::optional<ConfigValue> value = config.find(key)) return value;
    const std::optional<ConfigValue> text = config.find("text_config");
    if (!text || !text->is_object()) continue;
    if (std::optional<ConfigValue> value = text->find(key)) return value;
  }
  return std::nullopt;
}

std::string_view text_or(const ConfigValue& object, std::string_view key, std::string_view otherwise) {
  const std::optional<ConfigValue> value = object.find(key);
  return value ? value->text() : otherwise;
}

}  // namespace

QuantizationConfig QuantizationConfig::read(const ConfigValue& config,
                                            const std::optional<ConfigValue>& hf_quant_config) {
  QuantizationConfig result;
  std::optional<ConfigValue> declared_by_tool;
  if (hf_quant_config) declared_by_tool = hf_quant_config->find("quantization");

  if (const std::optional<ConfigValue> object = find_quantization(config)) {
    const ConfigValue method = object->at("quant_method");
    result.source_ = object->source();
    result.method_ = method.text();
    if (result.method_ == "fp8") {
      result.read_fp8(*object);
    } else if (result.method_ == "modelopt") {
      result.read_modelopt(*object);
    } else if (result.method_ == "compressed-tensors") {
      result.read_compressed_tensors(*object);
    } else {
      result.notes_.push_back(fmt::format(
          "{}: the method {} is not known (known: fp8, modelopt, compressed-tensors); the tensors decide",
          method.where(), method.found()));
      result.source_.clear();
    }
    result.read_kv(*object);
  } else if (declared_by_tool) {
    result.source_ = hf_quant_config->source();
    result.method_ = "modelopt";
    result.read_modelopt(*declared_by_tool);
  }
  if (declared_by_tool && result.kv_source_.empty()) result.read_kv(*declared_by_tool);
  return result;
}

void QuantizationConfig::read_fp8(const ConfigValue& object) {
  ignore_reaches_inside_ = true;
  Rule rule{.every_linear = true, .format = quant::Format::Fp8Tensor};
  if (const std::optional<ConfigValue> block = object.find("weight_block_size")) {
    const std::vector<ConfigValue> sides = block->items();
    ensure(sides.size() == 2, ErrorKind::BadCheckpoint, "{}: expected two sizes, found {}", block->where(),
           sides.size());
    const std::int64_t rows = sides[0].integer(1, 1 << 20);
    const std::int64_t columns = sides[1].integer(1, 1 << 20);
    rule.format = quant::Format::Fp8Block;
    if (rows != 128 || columns != 128) {
      rule.format = std::nullopt;
      notes_.push_back(
          fmt::format("{}: blocks of {} by {} are not known (known: 128 by 128); the tensors decide",
                      block->where(), rows, columns));
    }
  }
  if (const std::optional<ConfigValue> list = object.find("modules_to_not_convert")) ignore(*list);
  ignored_names_.insert("lm_head");  // never converted by this method, listed or not
  rules_.push_back(std::move(rule));
}

void QuantizationConfig::read_modelopt(const ConfigValue& object) {
  for (const char* key : {"ignore", "exclude_modules"}) {
    if (const std::optional<ConfigValue> list = object.find(key)) ignore(*list);
  }
  const std::optional<ConfigValue> algorithm = object.find("quant_algo");
  if (algorithm) algorithm_ = algorithm->text();
  if (const std::optional<ConfigValue> layers = object.find("quantized_layers")) {
    for (const auto& [name, layer] : layers->members()) {
      targets_.insert_or_assign(std::string(name), format_of_algorithm(layer.at("quant_algo")));
    }
    return;
  }
  const std::optional<ConfigValue> groups = object.find("config_groups");
  if (algorithm && algorithm_ != "MIXED_PRECISION") {
    rules_.push_back({.every_linear = true, .format = format_of_algorithm(*algorithm)});
  } else if (groups) {
    for (const auto& [name, group] : groups->members())
      read_group(group, weights_format(group.at("weights")));
  } else {
    notes_.push_back(
        fmt::format("{}: neither quant_algo nor config_groups; the tensors decide", object.where()));
    source_.clear();
  }
}

void QuantizationConfig::read_compressed_tensors(const ConfigValue& object) {
  if (const std::optional<ConfigValue> list = object.find("ignore")) ignore(*list);
  for (const auto& [name, group] : object.at("config_groups").members()) {
    const std::optional<ConfigValue> weights = group.find("weights");
    if (weights) read_group(group, weights_format(*weights));
  }
}

void QuantizationConfig::read_group(const ConfigValue& group, Format format) {
  Rule rule{.format = format};
  for (const ConfigValue& target : group.at("targets").items()) {
    if (target.text() == "Linear") {
      rule.every_linear = true;
    } else {
      add_name(rule, target);
    }
  }
  rules_.push_back(std::move(rule));
}

void QuantizationConfig::read_kv(const ConfigValue& object) {
  if (const std::optional<ConfigValue> scheme = object.find("kv_cache_scheme")) {
    if (scheme->is_text()) {
      if (scheme->text() == "FP8") kv_source_ = object.source();
    } else if (scheme->at("num_bits").integer() == 8 && text_or(*scheme, "type", "float") == "float") {
      kv_source_ = object.source();
    }
  }
  if (text_or(object, "kv_cache_quant_algo", "") == "FP8") kv_source_ = object.source();
}

void QuantizationConfig::ignore(const ConfigValue& list) {
  Rule rule;
  for (const ConfigValue& entry : list.items()) {
    ++ignored_entries_;
    const std::string_view text = entry.text();
    const bool expression = text.starts_with("re:");
    if (!expression && text.find_first_of("*?[") == std::string_view::npos) {
      ignored_names_.emplace(text);
    } else {
      add_name(rule, entry);
    }
  }
  ignored_patterns_.insert(ignored_patterns_.end(), rule.names.begin(), rule.names.end());
}

void QuantizationConfig::add_name(Rule& rule, const ConfigValue& name) {
  const std::string_view text = name.text();
  std::optional<NamePattern> pattern;
  if (text.starts_with("re:")) {
    pattern = NamePattern::regex(text.substr(3));
  } else {
    pattern = NamePattern::wildcards(text);
  }
  if (!pattern) {
    notes_.push_back(fmt::format("{}: the expression {} is not understood and is left out of the cross-check",
                                 name.where(), name.found()));
  } else if (const std::string* plain = pattern->plain()) {
    targets_.insert_or_assign(*plain, rule.format);
  } else {
    rule.names.push_back(*std::move(pattern));
  }
}

// The form that ModelOpt and compressed-tensors share: {num_bits, type, strategy, group_size,
// block_structure}.
QuantizationConfig::Format QuantizationConfig::weights_format(const ConfigValue& weights) {
  const std::int64_t bits = weights.at("num_bits").integer(1, 64);
  const std::string_view type = text_or(weights, "type", "int");
  const std::optional<ConfigValue> group = weights.find("group_size");
  const std::int64_t group_size = group ? group->integer(-1, 1 << 20) : 0;
  const std::string_view strategy = text_or(weights, "strategy", bits == 4 ? "tensor_group" : "tensor");
  if (type == "float" && bits == 4 && strategy == "tensor_group" && group_size == 16)
    return quant::Format::Nvfp4;
  if (type == "float" && bits == 8 && strategy == "tensor") return quant::Format::Fp8Tensor;
  if (type == "float" && bits == 8 && strategy == "channel") return quant::Format::Fp8Channel;
  if (type == "float" && bits == 8 && strategy == "block") return quant::Format::Fp8Block;
  notes_.push_back(
      fmt::format("{}: {} bits of type {}, strategy {}, group size {} are not a format known here (known: "
                  "NVFP4, FP8); the tensors decide",
                  weights.where(), bits, type, strategy, group_size));
  return std::nullopt;
}

QuantizationConfig::Format QuantizationConfig::format_of_algorithm(const ConfigValue& algorithm) {
  const std::string_view name = algorithm.text();
  if (name == "NVFP4" || name == "W4A16_NVFP4") {
    return quant::Format::Nvfp4;
  }
  if (name == "FP8") return quant::Format::Fp8Tensor;
  if (name == "FP8_PER_CHANNEL_PER_TOKEN") return quant::Format::Fp8Channel;
  if (name == "FP8_PB_WO") return quant::Format::Fp8Block;
  notes_.push_back(fmt::format("{}: the algorithm {} is not known; the tensors decide", algorithm.where(),
                               algorithm.found()));
  return std::nullopt;
}

bool QuantizationConfig::ignored(const std::vector<std::string>& spellings) const {
  for (const std::string& name : spellings) {
    if (ignored_names_.contains(name)) return true;
    for (const NamePattern& pattern : ignored_patterns_) {
      if (pattern.matches(name)) return true;
    }
    if (!ignore_reaches_inside_) continue;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (ignored_names_.contains(name.substr(0, dot)) || ignored_names_.contains(name.substr(dot + 1)))
        return true;
    }
  }
  return false;
}

std::optional<quant::Format> QuantizationConfig::declared(std::string_view internal_module) const {
  if (method_.empty()) return quant::Format::Bf16;
  if (source_.empty()) return std::nullopt;
  const std::vector<std::string> spellings = spellings_of(internal_module);
  if (ignored(spellings)) return quant::Format::Bf16;
  for (const std::string& name : spellings) {
    if (const auto target = targets_.find(name); target != targets_.end()) return target->second;
  }
  if (is_never_quantised(internal_module)) return quant::Format::Bf16;
  // "…mlp.experts" stands for all experts below it.
  for (const std::string& name : spellings) {
    for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = name.rfind('.', dot - 1)) {
      if (const auto target = targets_.find(name.substr(0, dot)); target != targets_.end())
        return target->second;
    }
  }
  for (const Rule& rule : rules_) {
    for (const NamePattern& pattern : rule.names) {
      for (const std::string& name : spellings) {
        if (pattern.matches(name)) return rule.format;
      }
    }
  }
  for (const Rule& rule : rules_) {
    if (rule.every_linear) return rule.format;
  }
  return quant::Format::Bf16;
}

}  // namespace redline::checkpoint
