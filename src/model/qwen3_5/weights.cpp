// Writes the list down, block by block. Shapes are those of specs and files: weights are [out, in].
#include "model/qwen3_5/weights.hpp"

#include <array>

#include "core/error.hpp"

namespace redline::model::qwen3_5 {
namespace {

constexpr std::array<std::string_view, kGroups> kGroupNames = {
    "routed_experts", "shared_expert", "dense_mlp", "delta_net", "attention", "head",
    "router",         "norms",         "embedding", "mtp",       "vision"};

// The parts of one decoder layer. In an MTP layer everything is of the group Mtp.
class LayerParts {
 public:
  LayerParts(const Config& config, std::string prefix, bool mtp, std::vector<Part>& parts)
      : config_(config), prefix_(std::move(prefix)), mtp_(mtp), parts_(parts) {}

  void norms() {
    plain("input_layernorm.weight", Group::Norms, {config_.hidden});
    plain("post_attention_layernorm.weight", Group::Norms, {config_.hidden});
  }

  void attention() {
    const std::int64_t query_rows = config_.query_heads * config_.head_dim;
    const std::int64_t kv_rows = config_.kv_heads * config_.head_dim;
    weight("self_attn.q_proj", Group::Attention,
           {2 * query_rows, config_.hidden});  // each head: query, then gate
    weight("self_attn.k_proj", Group::Attention, {kv_rows, config_.hidden});
    weight("self_attn.v_proj", Group::Attention, {kv_rows, config_.hidden});
    weight("self_attn.o_proj", Group::Attention, {config_.hidden, query_rows});
    plain("self_attn.q_norm.weight", Group::Attention, {config_.head_dim});
    plain("self_attn.k_norm.weight", Group::Attention, {config_.head_dim});
  }

  void delta_net() {
    const std::int64_t channels = config_.conv_channels();
    const std::int64_t values = config_.value_width();
    weight("linear_attn.in_proj_qkv", Group::DeltaNet, {channels, config_.hidden});
    weight("linear_attn.in_proj_z", Group::DeltaNet, {values, config_.hidden});
    kept_weight("linear_attn.in_proj_a", Group::DeltaNet, {config_.value_heads, config_.hidden});
    kept_weight("linear_attn.in_proj_b", Group::DeltaNet, {config_.value_heads, config_.hidden});
    plain("linear_attn.conv1d.weight", Group::DeltaNet, {channels, 1, config_.conv_taps});
    plain("linear_attn.A_log", Group::DeltaNet, {config_.value_heads});
    plain("linear_attn.dt_bias", Group::DeltaNet, {config_.value_heads});
    plain("linear_attn.norm.weight", Group::DeltaNet, {config_.value_head_dim});
    weight("linear_attn.out_proj", Group::DeltaNet, {config_.hidden, values});
  }

  void feed_forward() {
    if (!config_.moe) {
      gated_mlp("mlp", Group::DenseMlp, config_.dense_width);
      return;
    }
    const Moe& moe = *config_.moe;
    kept_weight("mlp.gate", Group::Router, {moe.experts, config_.hidden});
    add("mlp.experts", Group::RoutedExperts, Part::Kind::Experts,
        {moe.experts, moe.expert_width, config_.hidden}, true);
    gated_mlp("mlp.shared_expert", Group::SharedExpert, moe.shared_width);
    kept_weight("mlp.shared_expert_gate", Group::Router, {1, config_.hidden});
  }

 private:
  void gated_mlp(std::string_view name, Group group, std::int64_t width) {
    weight(fmt::format("{}.gate_proj", name), group, {width, config_.hidden});
    weight(fmt::format("{}.up_proj", name), group, {width, config_.hidden});
    weight(fmt::format("{}.down_proj", name), group, {config_.hidden, width});
  }
  void plain(std::string_view name, Group group, Shape shape) {
    add(name, group, Part::Kind::Plain, shape, false);
  }
  void weight(std::string_view name, Group group, Shape shape) {
    add(name, group, Part::Kind::Weight, shape, true);
  }
  // A matrix that publishers leave as it is, though it could be quantised.
  void kept_weight(std::string_view name, Group group, Shape shape) {
    add(name, group, Part::Kind::Weight, shape, false);
  }
  void add(std::string_view name, Group group, Part::Kind kind, Shape shape, bool quantisable) {
    parts_.push_back({.name = fmt::format("{}{}", prefix_, name),
                      .group = mtp_ ? Group::Mtp : group,
                      .kind = kind,
                      .shape = shape,
                      .quantisable = quantisable});
  }

  const Config& config_;
  std::string prefix_;
  bool mtp_;
  std::vector<Part>& parts_;
};

Part plain_part(std::string name, Group group, Shape shape) {
  return {.name = std::move(name), .group = group, .kind = Part::Kind::Plain, .shape = shape};
}

void add_mtp(const Config& config, std::vector<Part>& parts) {
  if (config.mtp_layers == 0) return;
  parts.push_back({.name = "mtp.fc",
                   .group = Group::Mtp,
                   .kind = Part::Kind::Weight,
                   .shape = {config.hidden, 2 * config.hidden}});
  for (const char* name :
       {"mtp.pre_fc_norm_embedding.weight", "mtp.pre_fc_norm_hidden.weight", "mtp.norm.weight"}) {
    parts.push_back(plain_part(name, Group::Mtp, {config.hidden}));
  }
  for (std::int64_t i = 0; i < config.mtp_layers; ++i) {
    LayerParts layer(config, fmt::format("mtp.layers.{}.", i), true, parts);
    layer.norms();
    layer.attention();  // whatever the index of the layer
    layer.feed_forward();
  }
}

}  // namespace

std::string_view name_of(Group group) { return kGroupNames[static_cast<std::size_t>(group)]; }

std::vector<Part> parts_of(const Config& config) {
  std::vector<Part> parts;
  const Shape table{config.vocabulary, config.hidden};
  parts.push_back({.name = std::string(kEmbedding),
                   .group = Group::Embedding,
                   .kind = Part::Kind::Weight,
                   .shape = table});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    LayerParts layer(config, fmt::format("model.layers.{}.", i), false, parts);
    layer.norms();
    if (config.mixers[static_cast<std::size_t>(i)] == Mixer::Attention) {
      layer.attention();
    } else {
      layer.delta_net();
    }
    layer.feed_forward();
  }
  parts.push_back(plain_part("model.norm.weight", Group::Norms, {config.hidden}));
  parts.push_back({.name = std::string(kHead),
                   .group = Group::Head,
                   .kind = Part::Kind::Weight,
                   .shape = table,
                   .quantisable = true});
  add_mtp(config, parts);
  return parts;
}

std::vector<Part> vision_parts_of(const Config& config) {
  std::vector<Part> parts;
  if (!config.vision) return parts;
  const Vision& vision = *config.vision;
  const auto with_bias = [&](const std::string& name, Shape shape) {
    parts.push_back(plain_part(fmt::format("visual.{}.weight", name), Group::Vision, shape));
    parts.push_back(plain_part(fmt::format("visual.{}.bias", name), Group::Vision, {shape[0]}));
  };
  with_bias("patch_embed.proj",
            {vision.hidden, vision.channels, vision.temporal_patch, vision.patch, vision.patch});
  parts.push_back(plain_part("visual.pos_embed.weight", Group::Vision, {vision.positions, vision.hidden}));
  for (std::int64_t i = 0; i < vision.depth; ++i) {
    const std::string block = fmt::format("blocks.{}", i);
    with_bias(block + ".norm1", {vision.hidden});
    with_bias(block + ".norm2", {vision.hidden});
    with_bias(block + ".attn.qkv", {3 * vision.hidden, vision.hidden});
    with_bias(block + ".attn.proj", {vision.hidden, vision.hidden});
    with_bias(block + ".mlp.linear_fc1", {vision.width, vision.hidden});
    with_bias(block + ".mlp.linear_fc2", {vision.hidden, vision.width});
  }
  const std::int64_t merged = vision.hidden * vision.merge * vision.merge;
  with_bias("merger.norm", {vision.hidden});
  with_bias("merger.linear_fc1", {merged, merged});
  with_bias("merger.linear_fc2", {vision.output, merged});
  return parts;
}

std::vector<ExpertMatrix> expert_matrices(const Part& experts) {
  const std::int64_t width = experts.shape[1];
  const std::int64_t hidden = experts.shape[2];
  return {{"gate_proj", width, hidden}, {"up_proj", width, hidden}, {"down_proj", hidden, width}};
}

std::vector<ExpertMatrix> fused_expert_matrices(const Part& experts) {
  const std::int64_t width = experts.shape[1];
  const std::int64_t hidden = experts.shape[2];
  return {{"gate_up_proj", 2 * width, hidden}, {"down_proj", hidden, width}};
}

std::string expert_module(const Part& experts, std::int64_t expert, std::string_view matrix) {
  return fmt::format("{}.{}.{}", experts.name, expert, matrix);
}

std::string fused_expert_module(const Part& experts, std::string_view matrix) {
  return fmt::format("{}.{}", experts.name, matrix);
}

std::int64_t parameters_of(const Part& part) {
  return part.shape.elements() * (part.kind == Part::Kind::Experts ? 3 : 1);
}

}  // namespace redline::model::qwen3_5
