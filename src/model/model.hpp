// What an architecture is to the engine: rows of tokens in, hidden rows and logits out, with caches that
// others own and size by ModelInfo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "ops/exec.hpp"
#include "ops/ring.hpp"

namespace redline::model {

// One step's rows, as device views that stay at the same address from step to step.
struct BatchView {
  std::int64_t row_count = 0, sequence_count = 0;
  TensorView tokens;      // [rows] I32
  TensorView positions;   // [rows] I32, of the rotation
  TensorView row_begin;   // [sequences + 1] I32
  TensorView kv_lengths;  // [sequences] I32: tokens in the cache once this step has run
  TensorView pages;       // I32, page ids of all sequences one after another
  TensorView page_begin;  // [sequences + 1] I32
  ops::RingView ring;     // slots of the recurrent layers (ops/ring.hpp); row_begin is the same
  TensorView logit_rows;  // [wanted] I32: rows whose logits are asked for
};

// Memory of all sequences. A page id means the same page in every layer's pool.
struct CacheView {
  std::vector<TensorView> kv;  // per full-attention layer [page_count, 2, kv_heads, page_tokens, head_dim]
  TensorView mtp_kv;           // of the MTP layer, the same shape
  std::vector<TensorView> delta_state;  // per delta-net layer [slot_count, slot bytes] U8
  std::vector<TensorView> conv_state;   // the same
};

struct ForwardOut {
  TensorView hidden;  // [rows, hidden] after the final norm: what the draft head reads
  TensorView logits;  // [wanted, vocabulary] F32
};

struct ModelInfo {
  std::string name, architecture;
  std::int64_t layers = 0, hidden = 0, vocabulary = 0, positions = 0;
  std::int64_t attention_layers = 0, delta_layers = 0,
               mtp_layers = 0;  // mtp_layers 0: no draft head in the files
  std::int64_t kv_heads = 0, head_dim = 0;
  std::size_t delta_slot_bytes = 0, conv_slot_bytes = 0;  // of one slot of one layer
  DType activations = DType::BF16;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // Activations come from exec.scratch, which the caller resets between steps; `out` views live there too.
  virtual void forward(ops::Exec& exec, const BatchView& batch, const CacheView& cache,
                       ForwardOut& out) const = 0;
  // The draft head. batch.tokens are the tokens that follow; `hidden` [rows, hidden] is the main model's (or
  // this head's own, when it continues a draft); row r predicts the token after batch.tokens[r].
  virtual void draft(ops::Exec& exec, const BatchView& batch, const TensorView& hidden,
                     const CacheView& cache, ForwardOut& out) const = 0;
};

}  // namespace redline::model
