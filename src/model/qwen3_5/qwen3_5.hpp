// The Qwen3.5 family as a Model. Straight-line code over operators: forward.cpp has the layer loop, one file
// for each kind of block.
#pragma once

#include "model/model.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/layers.hpp"

namespace redline::model::qwen3_5 {

class Qwen3_5 final : public Model {
 public:
  Qwen3_5(Config config, ModelInfo info, Weights weights);

  const ModelInfo& info() const override { return info_; }
  void forward(ops::Exec& exec, const BatchView& batch, const CacheView& cache,
               ForwardOut& out) const override;
  void draft(ops::Exec& exec, const BatchView& batch, const TensorView& hidden, const CacheView& cache,
             ForwardOut& out) const override;

 private:
  // Each block reads normed rows x [rows, hidden] and writes what is to be added to the residual, y [rows,
  // hidden].
  void attention_block(ops::Exec& exec, const BatchView& batch, const TensorView& kv,
                       const AttentionWeights& weights, const TensorView& x, const TensorView& y) const;
  void delta_block(ops::Exec& exec, const BatchView& batch, const TensorView& delta_state,
                   const TensorView& conv_state, const DeltaWeights& weights, const TensorView& x,
                   const TensorView& y) const;
  void mlp_block(ops::Exec& exec, const MlpWeights& weights, const TensorView& x, const TensorView& y) const;
  void moe_block(ops::Exec& exec, const MoeWeights& weights, const TensorView& x, const TensorView& y) const;
  void feed_forward(ops::Exec& exec, const Layer& layer, const TensorView& x, const TensorView& y) const;

  // residual += added (if there is any), then the norm of the sum, in a new tensor.
  TensorView normed(ops::Exec& exec, const TensorView& residual, const TensorView* added,
                    const TensorView& weight) const;
  TensorView project(ops::Exec& exec, const TensorView& x, const ops::PackedWeight& weight) const;
  TensorView take(ops::Exec& exec, const Shape& shape) const {
    return exec.scratch.take(info_.activations, shape);
  }
  void head(ops::Exec& exec, const BatchView& batch, ForwardOut& out) const;

  Config config_;
  ModelInfo info_;
  Weights weights_;
};

// [rows, a * b] as [rows, a, b], and back: the same numbers.
TensorView split_last(const TensorView& view, std::int64_t groups);
TensorView join_last(const TensorView& view);
// Columns [first, first + count) of a matrix, where they lie.
TensorView columns(const TensorView& view, std::int64_t first, std::int64_t count);

}  // namespace redline::model::qwen3_5
