// Table of sizes.
#include "model/qwen3_5/sizes.hpp"

#include <array>

#include "checkpoint/stored_tensors.hpp"
#include "core/error.hpp"
#include "model/qwen3_5/weights.hpp"
#include "quant/scheme.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Checkpoint;
using Declared = std::vector<Checkpoint::Declared>;

struct Size {
  std::string_view name;
  std::int64_t hidden, layers, query_heads, kv_heads, value_heads;
  std::int64_t dense_width;                    // 0: mixture of experts
  std::int64_t experts, chosen, expert_width;  // the shared expert is as wide as a routed one
  bool tied;
};
constexpr std::array<Size, 8> kSizes = {{
    {"qwen3.5-0.8b", 1024, 24, 8, 2, 16, 3584, 0, 0, 0, true},
    {"qwen3.5-2b", 2048, 24, 8, 2, 16, 6144, 0, 0, 0, true},
    {"qwen3.5-4b", 2560, 32, 16, 4, 32, 9216, 0, 0, 0, true},
    {"qwen3.5-9b", 4096, 32, 16, 4, 32, 12288, 0, 0, 0, false},
    {"qwen3.5-27b", 5120, 64, 24, 4, 48, 17408, 0, 0, 0, false},
    {"qwen3.5-35b-a3b", 2048, 40, 16, 2, 32, 0, 256, 8, 512, false},
    {"qwen3.5-122b-a10b", 3072, 48, 32, 2, 64, 0, 256, 8, 1024, false},
    {"qwen3.5-397b-a17b", 4096, 60, 32, 2, 64, 0, 512, 10, 1024, false},
}};

constexpr std::array<std::string_view, kSizes.size()> size_names() {
  std::array<std::string_view, kSizes.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSizes[i].name;
  return names;
}
constexpr auto kSizeNames = size_names();

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

// With scales of activations, as nvidia's files have them.
void declare_weight(const std::string& module, quant::Format format, std::int64_t rows, std::int64_t columns,
                    Declared& out) {
  for (const checkpoint::StoredTensor& tensor :
       checkpoint::stored_tensors(format, rows, columns, checkpoint::Nvfp4InputScale::Stored)) {
    out.push_back({fmt::format("{}{}", module, tensor.suffix), tensor.dtype, tensor.shape});
  }
}

void declare_experts(const Part& part, quant::Format format, Declared& out) {
  // 3.5 files fuse the experts of the main layers in BF16, and store every other kind one by one.
  if (format == quant::Format::Bf16 && part.group != Group::Mtp) {
    for (const ExpertMatrix& matrix : fused_expert_matrices(part)) {
      out.push_back({fused_expert_module(part, matrix.name),
                     DType::BF16,
                     {part.shape[0], matrix.rows, matrix.columns}});
    }
    return;
  }
  for (std::int64_t expert = 0; expert < part.shape[0]; ++expert) {
    for (const ExpertMatrix& matrix : expert_matrices(part)) {
      declare_weight(expert_module(part, expert, matrix.name), format, matrix.rows, matrix.columns, out);
    }
  }
}

bool is_f32_in_3_5(std::string_view tensor) {
  return tensor.ends_with(".linear_attn.A_log") || tensor.ends_with(".linear_attn.norm.weight");
}

Checkpoint declare(std::string name, const Config& config, Precision precision) {
  Declared tensors;
  for (const Part& part : parts_of(config)) {
    const quant::Format format = format_in(part, precision);
    switch (part.kind) {
      case Part::Kind::Plain:
        tensors.push_back({part.name, is_f32_in_3_5(part.name) ? DType::F32 : DType::BF16, part.shape});
        break;
      case Part::Kind::Weight:
        // A tied head is the embedding, except where the head is quantised: then it is a copy.
        if (part.group == Group::Head && config.tied_head && format == quant::Format::Bf16) break;
        declare_weight(part.name, format, part.shape[0], part.shape[1], tensors);
        break;
      case Part::Kind::Experts:
        declare_experts(part, format, tensors);
        break;
    }
  }
  return Checkpoint::synthetic(std::move(name), std::move(tensors));
}

}  // namespace

std::span<const std::string_view> published_sizes() { return kSizeNames; }

Config published_config(std::string_view name) {
  for (const Size& size : kSizes) {
    if (size.name != name) continue;
    Config config;
    config.architecture = size.dense_width > 0 ? "qwen3_5" : "qwen3_5_moe";
    config.layers = size.layers;
    config.hidden = size.hidden;
    config.vocabulary = 248320;
    config.positions = 262144;
    for (std::int64_t i = 0; i < size.layers; ++i) {
      config.mixers.push_back((i + 1) % 4 == 0 ? Mixer::Attention : Mixer::DeltaNet);
    }
    config.query_heads = size.query_heads;
    config.kv_heads = size.kv_heads;
    config.head_dim = 256;
    config.key_heads = 16;
    config.value_heads = size.value_heads;
    config.key_head_dim = config.value_head_dim = 128;
    config.conv_taps = 4;
    config.dense_width = size.dense_width;
    if (size.experts > 0) {
      config.moe = Moe{.experts = size.experts,
                       .chosen = size.chosen,
                       .expert_width = size.expert_width,
                       .shared_width = size.expert_width};
    }
    config.tied_head = size.tied;
    config.mtp_layers = 1;
    check(config, std::string(name));
    return config;
  }
  fail(ErrorKind::BadInput, "the size \"{}\" is not known; known are {}", name, listed(kSizeNames));
}

Synthetic make_synthetic(std::string_view name) {
  std::string_view rest = name;
  if (rest.starts_with(kSyntheticPrefix)) rest.remove_prefix(kSyntheticPrefix.size());
  const std::size_t at = rest.find('@');
  const std::string_view size = rest.substr(0, at);
  Config config = published_config(size);
  const Precision precision =
      at == std::string_view::npos ? Precision::Bf16 : precision_of(rest.substr(at + 1));
  ensure(precision != Precision::Experts || config.moe.has_value(), ErrorKind::BadInput,
         "{}: a dense size has no routed experts to quantise; use bf16, fp8, mixed or nvfp4", name);
  Checkpoint files = declare(std::string(name), config, precision);
  return {std::move(config), precision, std::move(files)};
}

}  // namespace redline::model::qwen3_5
