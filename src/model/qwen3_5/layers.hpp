// The weights of one model as its forward pass reads them, block by block. All matrices are [out, in] as
// stored in the checkpoint.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor.hpp"
#include "device/buffer.hpp"
#include "ops/matmul/packed_weight.hpp"

namespace redline::model::qwen3_5 {

struct AttentionWeights {
  ops::PackedWeight query_and_gate;  // [heads * head_dim * 2, hidden], per head query rows, then gate rows
  ops::PackedWeight key, value;      // [kv_heads * head_dim, hidden]
  ops::PackedWeight output;          // [hidden, heads * head_dim]
  TensorView query_norm, key_norm;   // [head_dim], zero-centred
};

struct DeltaWeights {
  ops::PackedWeight query_key_value;  // [channels, hidden]: q rows, k rows, v rows, each head-major
  ops::PackedWeight gate;             // [value_width, hidden]: z
  ops::PackedWeight a, b;             // [value_heads, hidden]
  TensorView convolution;             // [channels, 4]
  TensorView decay_log, time_bias;    // [value_heads]: A_log, dt_bias
  TensorView norm;                    // [value_head_dim], plain (no +1)
  ops::PackedWeight output;           // [hidden, value_width]
};

struct MlpWeights {
  ops::PackedWeight gate_up;  // [2 * width, hidden]: gate rows, then up rows
  ops::PackedWeight down;     // [hidden, width]
};

struct MoeWeights {
  ops::PackedWeight router;   // [experts, hidden]
  ops::PackedWeight gate_up;  // per expert [2 * width, hidden]
  ops::PackedWeight down;     // per expert [hidden, width]
  MlpWeights shared;
  ops::PackedWeight shared_gate;  // [1, hidden]
  std::int64_t chosen = 0;
};

struct Layer {
  TensorView input_norm, post_attention_norm;  // [hidden], zero-centred
  std::optional<AttentionWeights> attention;   // one of the two
  std::optional<DeltaWeights> delta;
  std::optional<MlpWeights> mlp;  // one of the two
  std::optional<MoeWeights> moe;
};

struct MtpWeights {
  TensorView embedding_norm, hidden_norm, norm;  // [hidden], zero-centred
  ops::PackedWeight join;                        // [hidden, 2 * hidden]: embedding half first
  Layer layer;                                   // of the full-attention kind, whatever its index
};

struct Weights {
  TensorView embedding;  // [vocabulary, hidden]
  std::vector<Layer> layers;
  TensorView norm;         // [hidden], zero-centred
  ops::PackedWeight head;  // [vocabulary, hidden]; the embedding where tied
  std::optional<MtpWeights> mtp;
  TensorView frequencies;  // [rotary / 2] F32
  float rotation_scale = 1;
  std::vector<Buffer> owned;  // what was made here rather than mapped
};

}  // namespace redline::model::qwen3_5
