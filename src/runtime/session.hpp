// One sequence on its own: caches for it, the views a step needs, prompt rows in chunks, single rows for
// decoding. The plainest way to run a model; many sequences at once are the engine's business.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/arena.hpp"
#include "device/device.hpp"
#include "model/model.hpp"
#include "ops/choice.hpp"
#include "ops/profile.hpp"

namespace redline::runtime {

class Session {
 public:
  struct Options {
    std::int64_t most_tokens = 4096;  // of context, prompt and answer together
    std::int64_t chunk_rows = 512;    // of a prompt, at once
    std::int64_t page_tokens = 64;
    ops::Refusals* refusals =
        nullptr;  // optional: what candidates say to the problems of a chunk and of a decode step
  };

  // `model` and `device` must outlive the session. Throws OutOfMemory when the caches do not fit.
  Session(const model::Model& model, Device& device, const ops::ChoiceTable& choices, const Options& options);

  // Which logits a call is to give.
  enum class Logits : std::uint8_t { Last, All };

  // Appends tokens and runs them. Rows [count, vocabulary] F32 on the device, valid until the next call: one,
  // or one for each token (then the tokens must fit one chunk). Several tokens go through as a prompt does,
  // one as a decode step does.
  TensorView run(std::span<const std::int32_t> tokens, Logits logits = Logits::Last);

  // The same rows through the ring that decode and verify steps use: up to ops::kRingRows of them. keep()
  // must follow before the next call.
  TensorView verify(std::span<const std::int32_t> tokens);
  void keep(
      std::int64_t rows);  // of the rows verified last, the first `rows` stand; the others were wrong guesses

  // The draft head over rows whose hidden rows are `hidden` [rows, hidden] and whose next tokens are `next`;
  // the first row's position in the draft head's cache is `position`. Gives logits and the head's own hidden
  // rows.
  model::ForwardOut draft(const TensorView& hidden, std::span<const std::int32_t> next, std::int64_t position,
                          Logits logits = Logits::Last);

  const TensorView& hidden() const { return hidden_; }  // of the rows of the last call
  std::int64_t length() const { return length_; }
  const model::ModelInfo& info() const { return model_.info(); }
  const Options& options() const { return options_; }
  // For operators that follow a step, as sampling does: scratch lies behind the step's activations.
  ops::Exec exec() { return {device_, {}, arena_, choices_, profile, options_.refusals}; }
  void reset();                     // an empty sequence again
  ops::Profile* profile = nullptr;  // where the time of each operator is noted, if anyone asks

 private:
  struct Rows {
    std::span<const std::int32_t> tokens;
    std::int64_t position = 0;
    bool into_ring = false;
    bool all_logits = false;
  };
  model::BatchView batch_of(const Rows& rows);
  TensorView step(const Rows& rows);

  const model::Model& model_;
  Device& device_;
  const ops::ChoiceTable& choices_;
  Options options_;
  std::vector<Buffer> buffers_;  // caches and fixed inputs
  model::CacheView cache_;
  TensorView tokens_, positions_, row_begin_, kv_lengths_, pages_, page_begin_, slots_, counts_, into_ring_,
      logit_rows_;
  Arena arena_;
  TensorView hidden_;
  std::int64_t length_ = 0;
  std::int64_t verified_rows_ = 0;  // of a verify() that keep() has not settled
};

}  // namespace redline::runtime
