// Reads and checks. Limits are far beyond any published size, and low enough that no product of them
// overflows.
#include "model/qwen3_5/config.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::ConfigValue;

// Products stay below 2^62: layers · experts · 3 · hidden · width · 2 bytes = 2^20 · 3 · 2^17 · 2^17 · 2.
constexpr std::int64_t kMostLayers = 1024;
constexpr std::int64_t kMostLayerExperts = std::int64_t{1} << 20;
constexpr std::int64_t kWidest = std::int64_t{1} << 17;
constexpr std::int64_t kMostHeads = 4096;
constexpr std::int64_t kWidestHead = 4096;
constexpr std::int64_t kMostWords = std::int64_t{1} << 24;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 26;

struct Architecture {
  std::string_view name, model_type;
  bool moe;
};
constexpr std::array<Architecture, 4> kKnown = {{{"Qwen3_5ForConditionalGeneration", "qwen3_5", false},
                                                 {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", true},
                                                 {"Qwen3_5ForCausalLM", "qwen3_5_text", false},
                                                 {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", true}}};

std::string known_names() {
  std::string names;
  for (const Architecture& known : kKnown)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

Architecture architecture_of(const ConfigValue& root) {
  if (const std::optional<ConfigValue> list = root.find("architectures")) {
    const std::vector<ConfigValue> names = list->items();
    ensure(names.size() == 1, ErrorKind::BadInput, "{}: expected one architecture, found {}; known are {}",
           list->where(), names.size(), known_names());
    for (const Architecture& known : kKnown) {
      if (known.name == names[0].text()) return known;
    }
    fail(ErrorKind::BadInput, "{}: the architecture {} is not known; known are {}", list->where(),
         names[0].found(), known_names());
  }
  if (const std::optional<ConfigValue> type = root.find("model_type")) {
    for (const Architecture& known : kKnown) {
      if (known.model_type == type->text()) return known;
    }
    fail(ErrorKind::BadInput, "{}: the model type {} is not known; known architectures are {}", type->where(),
         type->found(), known_names());
  }
  fail(ErrorKind::BadInput, "{}: neither architectures nor model_type is there; known architectures are {}",
       root.source(), known_names());
}

// A field from text_config if it has it, else from the top level.
class Fields {
 public:
  explicit Fields(const ConfigValue& root) : root_(root), text_(root.find("text_config")) {}

  std::optional<ConfigValue> find(std::string_view key) const {
    if (text_) {
      if (std::optional<ConfigValue> value = text_->find(key)) return value;
    }
    return root_.find(key);
  }
  ConfigValue at(std::string_view key) const {
    if (std::optional<ConfigValue> value = find(key)) return *std::move(value);
    return text_ ? text_->at(key) : root_.at(key);  // throws with the path where it was expected
  }
  const std::string& source() const { return root_.source(); }
  std::int64_t size(std::string_view key, std::int64_t most) const { return at(key).integer(1, most); }
  std::int64_t size_or(std::string_view key, std::int64_t most, std::int64_t otherwise) const {
    const std::optional<ConfigValue> value = find(key);
    return value ? value->integer(1, most) : otherwise;
  }

 private:
  const ConfigValue& root_;
  std::optional<ConfigValue> text_;
};

// Switches that every published checkpoint sets alike; another value would be another model.
void expect_switches(const Fields& fields) {
  struct Switch {
    std::string_view key;
    bool value;
  };
  constexpr std::array<Switch, 4> kSwitches = {{{"attention_bias", false},
                                                {"attn_output_gate", true},
                                                {"mtp_use_dedicated_embeddings", false},
                                                {"norm_topk_prob", true}}};
  for (const Switch& expected : kSwitches) {
    const std::optional<ConfigValue> value = fields.find(expected.key);
    ensure(!value || value->boolean() == expected.value, ErrorKind::Unsupported,
           "{}: only {} is supported, found {}", value ? value->where() : "", expected.value,
           value ? value->found() : "");
  }
  if (const std::optional<ConfigValue> activation = fields.find("hidden_act")) {
    ensure(activation->text() == "silu", ErrorKind::Unsupported, "{}: only \"silu\" is supported, found {}",
           activation->where(), activation->found());
  }
  if (const std::optional<ConfigValue> dense = fields.find("mlp_only_layers")) {
    ensure(dense->items().empty(), ErrorKind::Unsupported, "{}: only an empty list is supported, found {}",
           dense->where(), dense->found());
  }
  if (const std::optional<ConfigValue> step = fields.find("decoder_sparse_step")) {
    ensure(step->integer() == 1, ErrorKind::Unsupported, "{}: only 1 is supported, found {}", step->where(),
           step->found());
  }
}

std::vector<Mixer> mixers_of(const Fields& fields, std::int64_t layers) {
  std::vector<Mixer> mixers;
  if (const std::optional<ConfigValue> list = fields.find("layer_types")) {
    const std::vector<ConfigValue> types = list->items();
    ensure(static_cast<std::int64_t>(types.size()) == layers, ErrorKind::BadCheckpoint,
           "{}: expected {} entries (num_hidden_layers), found {}", list->where(), layers, types.size());
    for (const ConfigValue& type : types) {
      const bool attention = type.text() == "full_attention";
      ensure(attention || type.text() == "linear_attention", ErrorKind::BadCheckpoint,
             "{}: expected \"linear_attention\" or \"full_attention\", found {}", type.where(), type.found());
      mixers.push_back(attention ? Mixer::Attention : Mixer::DeltaNet);
    }
    return mixers;
  }
  const std::int64_t interval = fields.size("full_attention_interval", kMostLayers);
  for (std::int64_t i = 0; i < layers; ++i) {
    mixers.push_back((i + 1) % interval == 0 ? Mixer::Attention : Mixer::DeltaNet);
  }
  return mixers;
}

// Frequency i follows time, height or width as i mod 3 is 0, 1, 2: 11, 11, 10 of 32.
std::array<std::int64_t, 3> interleaved_sections(std::int64_t frequencies) {
  return {(frequencies + 2) / 3, (frequencies + 1) / 3, frequencies / 3};
}

Rope rope_of(const Fields& fields, std::int64_t head_dim) {
  std::optional<ConfigValue> object = fields.find("rope_parameters");
  if (!object) object = fields.find("rope_scaling");
  const auto find = [&](std::string_view key) {
    std::optional<ConfigValue> value;
    if (object) value = object->find(key);
    return value ? value : fields.find(key);
  };

  Rope rope;
  const ConfigValue theta = find("rope_theta").value_or(object ? *object : fields.at("rope_theta"));
  ensure(!theta.is_object(), ErrorKind::BadCheckpoint, "{}.rope_theta is missing", theta.where());
  rope.theta = theta.number();
  ensure(rope.theta > 1 && rope.theta < 1e15, ErrorKind::BadCheckpoint,
         "{}: expected a number above 1, found {}", theta.where(), theta.found());

  double part = 0.25;
  if (const std::optional<ConfigValue> factor = find("partial_rotary_factor")) {
    part = factor->number();
    ensure(part > 0 && part <= 1, ErrorKind::BadCheckpoint,
           "{}: expected a number above 0 and up to 1, found {}", factor->where(), factor->found());
  }
  rope.dimensions = static_cast<std::int64_t>(part * static_cast<double>(head_dim));
  ensure(
      rope.dimensions >= 2 && rope.dimensions % 2 == 0, ErrorKind::BadCheckpoint,
      "{}: partial_rotary_factor {} of head_dim {} gives {} rotary elements, expected an even number of at "
      "least 2",
      fields.source(), part, head_dim, rope.dimensions);

  rope.sections = interleaved_sections(rope.dimensions / 2);
  if (object) {
    if (const std::optional<ConfigValue> sections = object->find("mrope_section")) {
      const std::vector<ConfigValue> sizes = sections->items();
      ensure(sizes.size() == 3, ErrorKind::BadCheckpoint, "{}: expected 3 sizes, found {}", sections->where(),
             sizes.size());
      for (std::size_t i = 0; i < 3; ++i) rope.sections[i] = sizes[i].integer(0, kWidestHead);
      const std::int64_t sum = rope.sections[0] + rope.sections[1] + rope.sections[2];
      ensure(sum == rope.dimensions / 2, ErrorKind::BadCheckpoint,
             "{}: expected sizes that sum to {} (half of the rotary elements), found {}", sections->where(),
             rope.dimensions / 2, sum);
    }
    std::optional<ConfigValue> type = object->find("rope_type");
    if (!type) type = object->find("type");
    rope.yarn = type && type->text() == "yarn";
    ensure(!type || rope.yarn || type->text() == "default" || type->text() == "mrope", ErrorKind::Unsupported,
           "{}: only \"default\" and \"yarn\" are supported, found {}", type ? type->where() : "",
           type ? type->found() : "");
  }
  if (rope.yarn) {
    const ConfigValue factor = object->at("factor");
    rope.yarn_factor = factor.number();
    ensure(rope.yarn_factor >= 1 && rope.yarn_factor <= 1024, ErrorKind::BadCheckpoint,
           "{}: expected a number from 1 to 1024, found {}", factor.where(), factor.found());
    rope.yarn_original_positions = object->at("original_max_position_embeddings").integer(1, kMostPositions);
  }
  return rope;
}

Vision vision_of(const ConfigValue& object) {
  const auto size = [&](std::string_view key) { return object.at(key).integer(1, kWidest); };
  const auto size_or = [&](std::string_view key, std::int64_t otherwise) {
    const std::optional<ConfigValue> value = object.find(key);
    return value ? value->integer(1, 64) : otherwise;
  };
  return {.depth = object.at("depth").integer(1, kMostLayers),
          .hidden = size("hidden_size"),
          .width = size("intermediate_size"),
          .positions = size("num_position_embeddings"),
          .output = size("out_hidden_size"),
          .channels = size_or("in_channels", 3),
          .patch = size_or("patch_size", 16),
          .temporal_patch = size_or("temporal_patch_size", 2),
          .merge = size_or("spatial_merge_size", 2)};
}

bool is_tied(const ConfigValue& root) {
  std::vector<std::optional<ConfigValue>> levels{root.find("tie_word_embeddings")};
  if (const std::optional<ConfigValue> text = root.find("text_config"))
    levels.push_back(text->find("tie_word_embeddings"));
  return std::any_of(levels.begin(), levels.end(),
                     [](const auto& level) { return level && level->boolean(); });
}

}  // namespace

std::int64_t Config::attention_layers() const {
  return std::count(mixers.begin(), mixers.end(), Mixer::Attention);
}

void check(const Config& config, const std::string& source) {
  const auto divides = [&](std::int64_t part, std::string_view part_name, std::int64_t whole,
                           std::string_view whole_name) {
    ensure(whole % part == 0, ErrorKind::BadCheckpoint,
           "{}: {} is {}, expected a multiple of {}, which is {}", source, whole_name, whole, part_name,
           part);
  };
  divides(config.kv_heads, "num_key_value_heads", config.query_heads, "num_attention_heads");
  divides(config.key_heads, "linear_num_key_heads", config.value_heads, "linear_num_value_heads");
  if (config.moe) {
    ensure(config.moe->chosen <= config.moe->experts, ErrorKind::BadCheckpoint,
           "{}: num_experts_per_tok is {}, expected at most num_experts, which is {}", source,
           config.moe->chosen, config.moe->experts);
    ensure(
        config.moe->experts * config.layers <= kMostLayerExperts, ErrorKind::BadCheckpoint,
        "{}: {} layers of {} experts (num_hidden_layers, num_experts) are more than the {} that are allowed",
        source, config.layers, config.moe->experts, kMostLayerExperts);
  }
}

Config read_config(const ConfigValue& root) {
  const Architecture architecture = architecture_of(root);
  const Fields fields(root);
  expect_switches(fields);

  Config config;
  config.architecture = architecture.moe ? "qwen3_5_moe" : "qwen3_5";
  config.layers = fields.size("num_hidden_layers", kMostLayers);
  config.hidden = fields.size("hidden_size", kWidest);
  config.vocabulary = fields.size("vocab_size", kMostWords);
  config.positions = fields.size("max_position_embeddings", kMostPositions);
  config.mixers = mixers_of(fields, config.layers);
  config.query_heads = fields.size("num_attention_heads", kMostHeads);
  config.kv_heads = fields.size("num_key_value_heads", kMostHeads);
  config.head_dim = fields.size_or("head_dim", kWidestHead, 256);
  config.rope = rope_of(fields, config.head_dim);
  config.key_heads = fields.size("linear_num_key_heads", kMostHeads);
  config.value_heads = fields.size("linear_num_value_heads", kMostHeads);
  config.key_head_dim = fields.size("linear_key_head_dim", kWidestHead);
  config.value_head_dim = fields.size("linear_value_head_dim", kWidestHead);
  config.conv_taps = fields.size("linear_conv_kernel_dim", 64);
  if (architecture.moe) {
    config.moe = Moe{.experts = fields.size("num_experts", kMostLayerExperts),
                     .chosen = fields.size("num_experts_per_tok", kMostLayerExperts),
                     .expert_width = fields.size("moe_intermediate_size", kWidest),
                     .shared_width = fields.size("shared_expert_intermediate_size", kWidest)};
  } else {
    config.dense_width = fields.size("intermediate_size", kWidest);
  }
  config.tied_head = is_tied(root);
  if (const std::optional<ConfigValue> mtp = fields.find("mtp_num_hidden_layers"))
    config.mtp_layers = mtp->integer(0, 16);
  if (const std::optional<ConfigValue> epsilon = fields.find("rms_norm_eps")) {
    config.norm_epsilon = epsilon->number();
    ensure(config.norm_epsilon > 0 && config.norm_epsilon < 1, ErrorKind::BadCheckpoint,
           "{}: expected a number between 0 and 1, found {}", epsilon->where(), epsilon->found());
  }
  if (const std::optional<ConfigValue> vision = root.find("vision_config"))
    config.vision = vision_of(*vision);
  check(config, root.source());
  return config;
}

}  // namespace redline::model::qwen3_5
