// The draft head: the next token's embedding and the hidden row, each normed, joined, through one
// full-attention layer with caches of its own.
#include "core/error.hpp"
#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/embed/embed.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/norm/norm.hpp"

namespace redline::model::qwen3_5 {

void Qwen3_5::draft(ops::Exec& exec, const BatchView& batch, const TensorView& hidden, const CacheView& cache,
                    ForwardOut& out) const {
  ensure(weights_.mtp.has_value(), ErrorKind::Unsupported,
         "{}: this checkpoint has no MTP layer, so nothing can be drafted", info_.name);
  const MtpWeights& mtp = *weights_.mtp;
  const std::int64_t rows = batch.row_count;
  const auto epsilon = static_cast<float>(config_.norm_epsilon);

  const TensorView embedded = take(exec, {rows, info_.hidden});
  ops::embed::run(exec, {.tokens = batch.tokens, .table = weights_.embedding, .y = embedded});
  const TensorView joined = take(exec, {rows, 2 * info_.hidden});  // the embedding's half first
  ops::norm::run(exec, {.x = split_last(embedded, 1),
                        .weight = mtp.embedding_norm,
                        .y = split_last(columns(joined, 0, info_.hidden), 1),
                        .epsilon = epsilon});
  ops::norm::run(exec, {.x = split_last(hidden, 1),
                        .weight = mtp.hidden_norm,
                        .y = split_last(columns(joined, info_.hidden, info_.hidden), 1),
                        .epsilon = epsilon});
  const TensorView residual = project(exec, joined, mtp.join);

  const TensorView added = take(exec, {rows, info_.hidden});
  {
    const Arena::Scope scope(exec.scratch);
    attention_block(exec, batch, cache.mtp_kv, *mtp.layer.attention,
                    normed(exec, residual, nullptr, mtp.layer.input_norm), added);
    feed_forward(exec, mtp.layer, normed(exec, residual, &added, mtp.layer.post_attention_norm), added);
  }
  out.hidden = normed(exec, residual, &added, mtp.norm);
  head(exec, batch, out);
}

}  // namespace redline::model::qwen3_5
