// Every tensor of a model with its shape: one list, which loading, `inspect` and synthetic checkpoints all
// walk. Names are internal ones (checkpoint/checkpoint.hpp). Which of two expert layouts a layer has, and in
// which format a weight is stored, the files decide: the list says what must be there in one form or another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"
#include "model/qwen3_5/config.hpp"

namespace redline::model::qwen3_5 {

// What a report adds up. The order is that of reports.
enum class Group : std::uint8_t {
  RoutedExperts,
  SharedExpert,
  DenseMlp,
  DeltaNet,
  Attention,
  Head,
  Router,  // with the gate of the shared expert
  Norms,   // of layers and the last one; the norms inside attention and delta-net count there
  Embedding,
  Mtp,
  Vision,
};
inline constexpr int kGroups = 11;
std::string_view name_of(Group group);  // "routed_experts", "delta_net", …: field values of reports

struct Part {
  enum class Kind : std::uint8_t {
    Plain,    // one tensor of floats, never quantised: norms, convolution, A_log. `name` is the tensor's
    Weight,   // a matrix in any format. `name` is the module's: "model.layers.3.self_attn.q_proj"
    Experts,  // all routed experts of a layer, fused or one by one. `name` is "model.layers.3.mlp.experts"
  };
  std::string name;
  Group group;
  Kind kind = Kind::Plain;
  Shape shape{};             // Plain: as stored; Weight: [out, in]; Experts: [experts, expert width, hidden]
  bool quantisable = false;  // published checkpoints quantise it in some format
};

// Everything of the text model and the MTP layers. `head` is listed even when tied: it is then needed only if
// the files do not hold the embedding alone.
std::vector<Part> parts_of(const Config& config);

// The vision tower's tensors, "visual.…"; empty without a vision_config.
std::vector<Part> vision_parts_of(const Config& config);

inline constexpr std::string_view kHead = "lm_head";
inline constexpr std::string_view kEmbedding = "model.embed_tokens";
inline constexpr std::string_view kMtpPrefix = "mtp.";
inline constexpr std::string_view kVisionPrefix = "visual.";

// Names and shapes of expert matrices, as the two layouts have them.
struct ExpertMatrix {
  std::string_view name;  // "gate_proj"; fused: "gate_up_proj"
  std::int64_t rows, columns;
};
std::vector<ExpertMatrix> expert_matrices(const Part& experts);  // of one expert: gate, up, down
std::vector<ExpertMatrix> fused_expert_matrices(
    const Part& experts);  // rows 0 to I-1 of the first are the gate's
std::string expert_module(const Part& experts, std::int64_t expert, std::string_view matrix);
std::string fused_expert_module(const Part& experts, std::string_view matrix);

// Logical elements, all experts included; scales are not parameters.
std::int64_t parameters_of(const Part& part);

}  // namespace redline::model::qwen3_5
