// Loading, block by block, in the order of layers.hpp. On a CPU weights stay where the memory map has them;
// synthetic ones are made here.
#include "model/qwen3_5/loader.hpp"

#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

#include "checkpoint/inventory.hpp"
#include "checkpoint/tensor_scheme.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/log.hpp"
#include "model/qwen3_5/qwen3_5.hpp"
#include "model/qwen3_5/take.hpp"
#include "ops/delta/delta.hpp"
#include "ops/fill/fill.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::model::qwen3_5 {
namespace {

class Loader {
 public:
  Loader(const Config& config, const checkpoint::Checkpoint& files, ops::Exec& exec,
         const LoadOptions& options, std::vector<Buffer>& owned)
      : config_(config),
        files_(files),
        exec_(exec),
        seed_(options.seed),
        shapes_only_(options.shapes_only),
        owned_(owned) {}

  bool is_synthetic() const { return files_.bytes() == checkpoint::Bytes::Synthetic; }

  // A tensor of floats. `mean` and `deviation` are those of synthetic weights.
  TensorView plain(const std::string& name, const Shape& shape, double mean, double deviation) {
    const checkpoint::Tensor* tensor = files_.find(name);
    ensure(tensor != nullptr, ErrorKind::BadCheckpoint, "{}: tensor \"{}\" is missing", files_.name(), name);
    if (shapes_only_) return dense_view(nullptr, tensor->dtype, shape);
    if (!is_synthetic()) return dense_view(files_.view(*tensor).data, tensor->dtype, shape);
    const TensorView made =
        dense_view(allocate(shape.elements() * bits_of(tensor->dtype) / 8), tensor->dtype, shape);
    ops::fill::tensor(exec_, made, mean, deviation, seed_of(name));
    return made;
  }

  TensorView norm(const std::string& name, std::int64_t width) { return plain(name, {width}, 0, 0.05); }

  ops::PackedWeight weight(const std::string& module) { return stacked(std::span(&module, 1)); }

  // The rows of several modules of one format, one after another.
  ops::PackedWeight stacked(std::span<const std::string> modules) {
    ops::PackedWeight packed;
    packed.parts_per_matrix = static_cast<std::int64_t>(modules.size());
    for (const std::string& module : modules) add_part(packed, module);
    return finished(std::move(packed), modules.front());
  }

  ops::PackedWeight stacked(const std::string& prefix, std::initializer_list<const char*> names) {
    std::vector<std::string> modules;
    for (const char* name : names) modules.push_back(prefix + name);
    return stacked(modules);
  }

  MlpWeights mlp(const std::string& prefix) {
    return {stacked(prefix, {"gate_proj", "up_proj"}), weight(prefix + "down_proj")};
  }

  MoeWeights moe(const std::string& prefix) {
    const Moe& moe = *config_.moe;
    MoeWeights weights;
    weights.router = weight(prefix + "gate");
    const std::string experts = prefix + "experts.";
    if (files_.find(experts + "gate_up_proj") != nullptr) {
      weights.gate_up = fused(experts + "gate_up_proj");
      weights.down = fused(experts + "down_proj");
    } else {
      weights.gate_up.parts_per_matrix = 2;
      for (std::int64_t e = 0; e < moe.experts; ++e) {
        const std::string expert = fmt::format("{}{}.", experts, e);
        add_part(weights.gate_up, expert + "gate_proj");
        add_part(weights.gate_up, expert + "up_proj");
        add_part(weights.down, expert + "down_proj");
      }
      weights.gate_up = finished(std::move(weights.gate_up), experts + "gate_proj");
      weights.down = finished(std::move(weights.down), experts + "down_proj");
    }
    weights.shared = mlp(prefix + "shared_expert.");
    weights.shared_gate = weight(prefix + "shared_expert_gate");
    weights.chosen = moe.chosen;
    return weights;
  }

  AttentionWeights attention(const std::string& prefix) {
    return {.query_and_gate = weight(prefix + "q_proj"),
            .key = weight(prefix + "k_proj"),
            .value = weight(prefix + "v_proj"),
            .output = weight(prefix + "o_proj"),
            .query_norm = norm(prefix + "q_norm.weight", config_.head_dim),
            .key_norm = norm(prefix + "k_norm.weight", config_.head_dim)};
  }

  DeltaWeights delta(const std::string& prefix) {
    return {
        .query_key_value = weight(prefix + "in_proj_qkv"),
        .gate = weight(prefix + "in_proj_z"),
        .a = weight(prefix + "in_proj_a"),
        .b = weight(prefix + "in_proj_b"),
        .convolution = plain(prefix + "conv1d.weight", {config_.conv_channels(), config_.conv_taps}, 0, 0.5),
        // A_log = log of a decay rate between 1 and 16, dt_bias near softplus⁻¹ of small time steps: as such
        // layers are initialised.
        .decay_log = plain(prefix + "A_log", {config_.value_heads}, 1.5, 0.5),
        .time_bias = plain(prefix + "dt_bias", {config_.value_heads}, -3, 1),
        .norm = plain(prefix + "norm.weight", {config_.value_head_dim}, 1, 0.05),
        .output = weight(prefix + "out_proj")};
  }

  Layer layer(const std::string& prefix, Mixer mixer) {
    Layer made;
    made.input_norm = norm(prefix + "input_layernorm.weight", config_.hidden);
    made.post_attention_norm = norm(prefix + "post_attention_layernorm.weight", config_.hidden);
    if (mixer == Mixer::Attention) {
      made.attention = attention(prefix + "self_attn.");
    } else {
      made.delta = delta(prefix + "linear_attn.");
    }
    if (config_.moe) {
      made.moe = moe(prefix + "mlp.");
    } else {
      made.mlp = mlp(prefix + "mlp.");
    }
    return made;
  }

  void* allocate(std::int64_t bytes) {
    owned_.push_back(exec_.device.allocate(static_cast<std::size_t>(bytes), Place::Host));
    return owned_.back().data();
  }

 private:
  std::uint64_t seed_of(const std::string& name) const {
    return hash_bytes(std::as_bytes(std::span(name.data(), name.size())), seed_);
  }

  checkpoint::Weight found(const std::string& module) {
    std::optional<checkpoint::Weight> weight = checkpoint::find_weight(files_, module);
    ensure(weight.has_value(), ErrorKind::BadCheckpoint, "{}: weight \"{}\" is missing", files_.name(),
           module);
    return *weight;
  }

  float scalar(const checkpoint::Tensor& tensor) {
    const TensorView view = files_.view(tensor);
    ensure(view.shape.elements() == 1, ErrorKind::BadCheckpoint,
           "{}: tensor \"{}\": expected one number, found {}", files_.name(), tensor.name_on_disk,
           to_text(view.shape));
    return static_cast<float>(ops::load(dense_view(view.data, view.dtype, {1}), {0}));
  }

  void adopt_scheme(ops::PackedWeight& packed, const checkpoint::Weight& weight, const std::string& module) {
    if (packed.parts.empty()) {
      packed.scheme = weight.scheme;
      packed.in = weight.columns;
    }
    // Whether the scalar divides matters only until it is read.
    quant::Scheme ours = packed.scheme, theirs = weight.scheme;
    ours.tensor_scale_divides = theirs.tensor_scale_divides = false;
    ensure(ours == theirs && packed.in == weight.columns, ErrorKind::Unsupported,
           "{}: \"{}\" is {} and would be read together with a matrix that is {}; both must have one format",
           files_.name(), module, quant::name_of(quant::format_of(theirs)),
           quant::name_of(quant::format_of(ours)));
  }

  void add_part(ops::PackedWeight& packed, const std::string& module) {
    const checkpoint::Weight weight = found(module);
    adopt_scheme(packed, weight, module);
    ops::WeightPart part{.rows = weight.rows};
    if (!is_synthetic() && !shapes_only_) {
      part.elements = files_.view(*weight.codes).data;
      if (weight.scale != nullptr) part.scales = files_.view(*weight.scale).data;
      if (weight.tensor_scale != nullptr) {
        part.multiplier = scalar(*weight.tensor_scale);
        if (weight.scheme.tensor_scale_divides) part.multiplier = 1 / part.multiplier;
      }
    }
    packed.parts.push_back(part);
  }

  // All experts in one tensor [experts, out, in]: one part for each.
  ops::PackedWeight fused(const std::string& module) {
    const checkpoint::Weight weight = found(module);
    ops::PackedWeight packed;
    adopt_scheme(packed, weight, module);
    const std::int64_t step = quant::bytes_of(weight.scheme, weight.rows, weight.columns);
    const auto* bytes = is_synthetic() || shapes_only_
                            ? nullptr
                            : static_cast<const std::byte*>(files_.view(*weight.codes).data);
    for (std::int64_t e = 0; e < weight.count; ++e) {
      packed.parts.push_back(
          {.elements = bytes == nullptr ? nullptr : bytes + e * step, .rows = weight.rows});
    }
    return finished(std::move(packed), module);
  }

  ops::PackedWeight finished(ops::PackedWeight packed, const std::string& module) {
    packed.matrices = static_cast<std::int64_t>(packed.parts.size()) / packed.parts_per_matrix;
    packed.out = 0;
    for (std::int64_t p = 0; p < packed.parts_per_matrix; ++p) {
      ensure(packed.part(0, p).rows == packed.part(0, 0).rows, ErrorKind::Unsupported,
             "{}: \"{}\" has parts of different heights", files_.name(), module);
      packed.out += packed.part(0, p).rows;
    }
    if (is_synthetic() && !shapes_only_) {
      allocate_parts(packed);
      ops::fill::weight(exec_, packed, seed_of(module));
    }
    return packed;
  }

  void allocate_parts(ops::PackedWeight& packed) {
    const quant::Scheme& scheme = packed.scheme;
    for (ops::WeightPart& part : packed.parts) {
      const std::int64_t element_bytes = part.rows * packed.in * bits_of(scheme.element) / 8;
      quant::Scheme without_scalar = scheme;
      without_scalar.tensor_scale = false;
      const std::int64_t scale_bytes = quant::bytes_of(without_scalar, part.rows, packed.in) - element_bytes;
      packed.owned.push_back(exec_.device.allocate(static_cast<std::size_t>(element_bytes), Place::Host));
      part.elements = packed.owned.back().data();
      if (scale_bytes > 0) {
        packed.owned.push_back(exec_.device.allocate(static_cast<std::size_t>(scale_bytes), Place::Host));
        part.scales = packed.owned.back().data();
      }
    }
  }

  const Config& config_;
  const checkpoint::Checkpoint& files_;
  ops::Exec& exec_;
  std::uint64_t seed_;
  bool shapes_only_;
  std::vector<Buffer>& owned_;
};

// Radians per position of each rotary pair. YaRN ("YaRN: Efficient Context Window Extension of Large Language
// Models", Peng et al. 2023) keeps fast frequencies, divides slow ones by the factor, and blends between; its
// bounds are 32 and 1 rotations over the original context.
std::vector<float> rotary_frequencies(const Rope& rope) {
  const auto pairs = static_cast<std::size_t>(rope.dimensions / 2);
  std::vector<float> frequencies(pairs);
  const auto dimension_of = [&](double rotations) {
    return static_cast<double>(rope.dimensions) *
           std::log(static_cast<double>(rope.yarn_original_positions) / (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  for (std::size_t i = 0; i < pairs; ++i) {
    const double plain =
        std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope.dimensions));
    double frequency = plain;
    if (rope.yarn) {
      const double low = std::max(std::floor(dimension_of(32)), 0.0);
      const double high = std::max(
          std::min(std::ceil(dimension_of(1)), static_cast<double>(rope.dimensions) - 1), low + 0.001);
      const double slow = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      frequency = plain * (1 - slow) + plain / rope.yarn_factor * slow;
    }
    frequencies[i] = static_cast<float>(frequency);
  }
  return frequencies;
}

}  // namespace

std::unique_ptr<Model> load(const Config& config, const checkpoint::Checkpoint& files, ops::Exec& exec,
                            const LoadOptions& options) {
  ensure(options.shapes_only || files.bytes() == checkpoint::Bytes::Here ||
             files.bytes() == checkpoint::Bytes::Synthetic,
         ErrorKind::BadCheckpoint,
         "{}: the weights are not here, only their names and shapes; download the files whole", files.name());
  checkpoint::Inventory inventory(files);
  const TakenModel taken = take_model(config, inventory);
  ensure(taken.faults.empty(), ErrorKind::BadCheckpoint, "{}: {}", files.name(),
         taken.faults.empty() ? "" : taken.faults.front());
  inventory.check();
  for (const std::string& note : taken.notes) log::info("{}", note);

  Weights weights;
  Loader loader(config, files, exec, options, weights.owned);
  weights.embedding =
      loader.plain(std::string(kEmbedding) + ".weight", {config.vocabulary, config.hidden}, 0, 1);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    weights.layers.push_back(
        loader.layer(fmt::format("model.layers.{}.", i), config.mixers[static_cast<std::size_t>(i)]));
  }
  weights.norm = loader.norm("model.norm.weight", config.hidden);
  if (checkpoint::find_weight(files, kHead)) {
    weights.head = loader.weight(std::string(kHead));
  } else {
    weights.head.scheme.element = weights.embedding.dtype;
    weights.head.out = config.vocabulary;
    weights.head.in = config.hidden;
    weights.head.parts = {{.elements = weights.embedding.data, .rows = config.vocabulary}};
  }
  const bool drafts = config.mtp_layers > 0 && taken.mtp_missing.empty() &&
                      checkpoint::find_weight(files, "mtp.fc").has_value();
  if (drafts) {
    ensure(config.mtp_layers == 1, ErrorKind::Unsupported,
           "{}: {} MTP layers; no published checkpoint has more than one", files.name(), config.mtp_layers);
    weights.mtp = MtpWeights{.embedding_norm = loader.norm("mtp.pre_fc_norm_embedding.weight", config.hidden),
                             .hidden_norm = loader.norm("mtp.pre_fc_norm_hidden.weight", config.hidden),
                             .norm = loader.norm("mtp.norm.weight", config.hidden),
                             .join = loader.weight("mtp.fc"),
                             .layer = loader.layer("mtp.layers.0.", Mixer::Attention)};
  }
  const std::vector<float> frequencies = rotary_frequencies(config.rope);
  weights.frequencies =
      dense_view(loader.allocate(static_cast<std::int64_t>(frequencies.size() * sizeof(float))), DType::F32,
                 {static_cast<std::int64_t>(frequencies.size())});
  std::memcpy(weights.frequencies.data, frequencies.data(), frequencies.size() * sizeof(float));
  if (config.rope.yarn)
    weights.rotation_scale = static_cast<float>(0.1 * std::log(config.rope.yarn_factor) + 1);

  ModelInfo info{.name = files.name(),
                 .architecture = config.architecture,
                 .layers = config.layers,
                 .hidden = config.hidden,
                 .vocabulary = config.vocabulary,
                 .positions = config.positions,
                 .attention_layers = config.attention_layers(),
                 .delta_layers = config.delta_layers(),
                 .mtp_layers = drafts ? config.mtp_layers : 0,
                 .kv_heads = config.kv_heads,
                 .head_dim = config.head_dim,
                 .delta_slot_bytes = ops::delta::slot_bytes(
                     static_cast<int>(config.key_heads), static_cast<int>(config.value_heads),
                     static_cast<int>(config.key_head_dim), static_cast<int>(config.value_head_dim)),
                 .conv_slot_bytes = ops::short_conv::slot_bytes(config.conv_channels(), options.activations),
                 .activations = options.activations};
  return std::make_unique<Qwen3_5>(config, std::move(info), std::move(weights));
}

}  // namespace redline::model::qwen3_5
