// The full-attention block: projections, head norms and rotation, paged attention with its output gate,
// projection back.
#include <cmath>

#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/attention/attention.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/rope_kv/rope_kv.hpp"

namespace redline::model::qwen3_5 {

void Qwen3_5::attention_block(ops::Exec& exec, const BatchView& batch, const TensorView& kv,
                              const AttentionWeights& weights, const TensorView& x,
                              const TensorView& y) const {
  const TensorView query_gate = split_last(project(exec, x, weights.query_and_gate), config_.query_heads);
  const TensorView key = split_last(project(exec, x, weights.key), config_.kv_heads);
  const TensorView value = split_last(project(exec, x, weights.value), config_.kv_heads);
  const TensorView query = take(exec, {x.shape[0], config_.query_heads, config_.head_dim});
  ops::rope_kv::run(exec, {.query_gate = query_gate,
                           .key = key,
                           .value = value,
                           .query_norm = weights.query_norm,
                           .key_norm = weights.key_norm,
                           .frequencies = weights_.frequencies,
                           .positions = batch.positions,
                           .row_begin = batch.row_begin,
                           .kv_lengths = batch.kv_lengths,
                           .pages = batch.pages,
                           .page_begin = batch.page_begin,
                           .epsilon = static_cast<float>(config_.norm_epsilon),
                           .rotation_scale = weights_.rotation_scale,
                           .query = query,
                           .kv = kv});
  const TensorView attended = take(exec, query.shape);
  ops::attention::run(exec, {.query = query,
                             .kv = kv,
                             .row_begin = batch.row_begin,
                             .kv_lengths = batch.kv_lengths,
                             .pages = batch.pages,
                             .page_begin = batch.page_begin,
                             .query_gate = query_gate,
                             .scale = 1 / std::sqrt(static_cast<float>(config_.head_dim)),
                             .y = attended});
  ops::matmul::run(exec, {.x = join_last(attended), .weight = &weights.output, .y = y});
}

}  // namespace redline::model::qwen3_5
