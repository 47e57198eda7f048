// The gated delta-net block: projections, short convolution, delta rule, gated norm of each value head,
// projection back.
#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/delta/delta.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/norm/norm.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::model::qwen3_5 {

void Qwen3_5::delta_block(ops::Exec& exec, const BatchView& batch, const TensorView& delta_state,
                          const TensorView& conv_state, const DeltaWeights& weights, const TensorView& x,
                          const TensorView& y) const {
  const TensorView projected = project(exec, x, weights.query_key_value);
  const TensorView gate = project(exec, x, weights.gate);
  const TensorView a = project(exec, x, weights.a);
  const TensorView b = project(exec, x, weights.b);
  const TensorView qkv = take(exec, projected.shape);
  ops::short_conv::run(
      exec,
      {.u = projected, .weight = weights.convolution, .state = conv_state, .ring = batch.ring, .y = qkv});
  const TensorView o = take(exec, {x.shape[0], config_.value_heads, config_.value_head_dim});
  ops::delta::run(exec, {.key_heads = static_cast<int>(config_.key_heads),
                         .value_heads = static_cast<int>(config_.value_heads),
                         .key_dim = static_cast<int>(config_.key_head_dim),
                         .value_dim = static_cast<int>(config_.value_head_dim),
                         .qkv = qkv,
                         .a = a,
                         .b = b,
                         .decay_log = weights.decay_log,
                         .time_bias = weights.time_bias,
                         .state = delta_state,
                         .ring = batch.ring,
                         .y = o});
  const TensorView gated = take(exec, o.shape);
  ops::norm::run(exec, {.x = o,
                        .weight = weights.norm,
                        .y = gated,
                        .epsilon = static_cast<float>(config_.norm_epsilon),
                        .zero_centred = false,
                        .gate = split_last(gate, config_.value_heads)});
  ops::matmul::run(exec, {.x = join_last(gated), .weight = &weights.output, .y = y});
}

}  // namespace redline::model::qwen3_5
