// The layer loop, the norms around each block, and the head.
#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/embed/embed.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/norm/norm.hpp"

namespace redline::model::qwen3_5 {

Qwen3_5::Qwen3_5(Config config, ModelInfo info, Weights weights)
    : config_(std::move(config)), info_(std::move(info)), weights_(std::move(weights)) {}

TensorView split_last(const TensorView& view, std::int64_t groups) {
  const std::int64_t width = view.shape[1] / groups;
  TensorView split = view;
  split.shape = {view.shape[0], groups, width};
  split.strides = {view.strides[0], width, 1};
  return split;
}

TensorView join_last(const TensorView& view) {
  TensorView joined = view;
  joined.shape = {view.shape[0], view.shape[1] * view.shape[2]};
  joined.strides = {view.strides[0], 1};
  return joined;
}

TensorView columns(const TensorView& view, std::int64_t first, std::int64_t count) {
  TensorView part = view;
  // A counting arena hands out null addresses; they must stay null.
  if (view.data != nullptr) part.data = static_cast<std::byte*>(view.data) + first * bits_of(view.dtype) / 8;
  part.shape = {view.shape[0], count};
  return part;
}

TensorView Qwen3_5::normed(ops::Exec& exec, const TensorView& residual, const TensorView* added,
                           const TensorView& weight) const {
  TensorView y = take(exec, residual.shape);
  ops::norm::Args args{.x = split_last(added != nullptr ? *added : residual, 1),
                       .weight = weight,
                       .y = split_last(y, 1),
                       .epsilon = static_cast<float>(config_.norm_epsilon)};
  if (added != nullptr) args.residual = split_last(residual, 1);
  ops::norm::run(exec, args);
  return y;
}

TensorView Qwen3_5::project(ops::Exec& exec, const TensorView& x, const ops::PackedWeight& weight) const {
  const TensorView y = take(exec, {x.shape[0], weight.out});
  ops::matmul::run(exec, {.x = x, .weight = &weight, .y = y});
  return y;
}

void Qwen3_5::feed_forward(ops::Exec& exec, const Layer& layer, const TensorView& x,
                           const TensorView& y) const {
  if (layer.moe) {
    moe_block(exec, *layer.moe, x, y);
  } else {
    mlp_block(exec, *layer.mlp, x, y);
  }
}

void Qwen3_5::forward(ops::Exec& exec, const BatchView& batch, const CacheView& cache,
                      ForwardOut& out) const {
  const TensorView residual = take(exec, {batch.row_count, info_.hidden});
  ops::embed::run(exec, {.tokens = batch.tokens, .table = weights_.embedding, .y = residual});

  const TensorView added = take(
      exec, {batch.row_count, info_.hidden});  // a block's output, which the next norm adds to the residual
  const TensorView* pending = nullptr;
  std::size_t attention_index = 0, delta_index = 0;
  for (const Layer& layer : weights_.layers) {
    const Arena::Scope scope(exec.scratch);
    if (layer.attention) {
      attention_block(exec, batch, cache.kv[attention_index++], *layer.attention,
                      normed(exec, residual, pending, layer.input_norm), added);
    } else {
      delta_block(exec, batch, cache.delta_state[delta_index], cache.conv_state[delta_index], *layer.delta,
                  normed(exec, residual, pending, layer.input_norm), added);
      ++delta_index;
    }
    pending = &added;
    feed_forward(exec, layer, normed(exec, residual, pending, layer.post_attention_norm), added);
  }
  out.hidden = normed(exec, residual, pending, weights_.norm);
  head(exec, batch, out);
}

void Qwen3_5::head(ops::Exec& exec, const BatchView& batch, ForwardOut& out) const {
  const std::int64_t wanted = batch.logit_rows.shape[0];
  if (wanted == 0) {
    out.logits = exec.scratch.take(DType::F32, {0, info_.vocabulary});
    return;
  }
  // Gathering rows is what embed does, whatever the table.
  const TensorView rows = take(exec, {wanted, info_.hidden});
  ops::embed::run(exec, {.tokens = batch.logit_rows, .table = out.hidden, .y = rows});
  out.logits = exec.scratch.take(DType::F32, {wanted, info_.vocabulary});
  ops::matmul::run(exec, {.x = rows, .weight = &weights_.head, .y = out.logits});
}

}  // namespace redline::model::qwen3_5
