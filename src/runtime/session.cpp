// Caches of one sequence and the two kinds of step.
#include "runtime/session.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/error.hpp"

namespace redline::runtime {
namespace {

TensorView allocate(Device& device, std::vector<Buffer>& buffers, DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.elements() * bits_of(dtype) / 8);
  buffers.push_back(device.allocate(bytes, Place::Host));
  if (bytes > 0) std::memset(buffers.back().data(), 0, bytes);
  return dense_view(buffers.back().data(), dtype, shape);
}

std::int32_t* ints(const TensorView& view) { return static_cast<std::int32_t*>(view.data); }

TensorView first(const TensorView& view, std::int64_t count) {
  TensorView part = view;
  part.shape = {count};
  return part;
}

}  // namespace

Session::Session(const model::Model& model, Device& device, const ops::ChoiceTable& choices,
                 const Options& options)
    : model_(model),
      device_(device),
      choices_(choices),
      options_(options),
      arena_(Arena::counting(Place::Host)) {
  const model::ModelInfo& info = model.info();
  ensure(options.most_tokens > 0 && options.chunk_rows > ops::kRingRows && options.page_tokens > 0,
         "a session needs room for tokens, chunks longer than a ring of {} rows, and pages", ops::kRingRows);
  const std::int64_t pages = (options.most_tokens + options.page_tokens - 1) / options.page_tokens;
  const auto make = [&](DType dtype, const Shape& shape) {
    return allocate(device_, buffers_, dtype, shape);
  };
  const Shape pool{pages, 2, info.kv_heads, options.page_tokens, info.head_dim};
  for (std::int64_t i = 0; i < info.attention_layers; ++i) cache_.kv.push_back(make(info.activations, pool));
  if (info.mtp_layers > 0) cache_.mtp_kv = make(info.activations, pool);
  for (std::int64_t i = 0; i < info.delta_layers; ++i) {
    cache_.delta_state.push_back(make(DType::U8, {1, static_cast<std::int64_t>(info.delta_slot_bytes)}));
    cache_.conv_state.push_back(make(DType::U8, {1, static_cast<std::int64_t>(info.conv_slot_bytes)}));
  }
  tokens_ = make(DType::I32, {options.chunk_rows});
  positions_ = make(DType::I32, {options.chunk_rows});
  row_begin_ = make(DType::I32, {2});
  kv_lengths_ = make(DType::I32, {1});
  pages_ = make(DType::I32, {pages});
  page_begin_ = make(DType::I32, {2});
  slots_ = make(DType::I32, {1});
  counts_ = make(DType::I32, {1});
  into_ring_ = make(DType::I32, {1});
  logit_rows_ = make(DType::I32, {options.chunk_rows});
  std::iota(ints(pages_), ints(pages_) + pages, 0);

  // A dry run of the largest step tells how much the activations take.
  const std::vector<std::int32_t> zeros(static_cast<std::size_t>(options.chunk_rows), 0);
  for (const bool all : {false, true}) {
    arena_.reset();
    ops::Exec dry = exec();
    model::ForwardOut out;
    model_.forward(dry, batch_of({.tokens = zeros, .all_logits = all}), cache_, out);
    if (info.mtp_layers > 0) model_.draft(dry, batch_of({.tokens = zeros}), out.hidden, cache_, out);
    if (!choices_.references()) {
      // The same with one row, whose candidates may want other scratch.
      model_.forward(dry, batch_of({.tokens = std::span(zeros).first(1), .into_ring = true}), cache_, out);
    }
  }
  arena_ = Arena(device_, arena_.high_water(), Place::Host);
}

void Session::reset() {
  for (const std::vector<TensorView>* views : {&cache_.delta_state, &cache_.conv_state}) {
    for (const TensorView& view : *views)
      std::memset(view.data, 0, static_cast<std::size_t>(view.shape.elements()));
  }
  ints(counts_)[0] = 0;
  length_ = 0;
  verified_rows_ = 0;
}

model::BatchView Session::batch_of(const Rows& rows) {
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  std::copy(rows.tokens.begin(), rows.tokens.end(), ints(tokens_));
  std::iota(ints(positions_), ints(positions_) + count, static_cast<std::int32_t>(rows.position));
  ints(row_begin_)[1] = static_cast<std::int32_t>(count);
  ints(kv_lengths_)[0] = static_cast<std::int32_t>(rows.position + count);
  ints(page_begin_)[1] =
      static_cast<std::int32_t>((rows.position + count + options_.page_tokens - 1) / options_.page_tokens);
  ints(into_ring_)[0] = rows.into_ring ? 1 : 0;
  const std::int64_t wanted = rows.all_logits ? count : 1;
  std::iota(ints(logit_rows_), ints(logit_rows_) + wanted, static_cast<std::int32_t>(count - wanted));
  return {.row_count = count,
          .sequence_count = 1,
          .tokens = first(tokens_, count),
          .positions = first(positions_, count),
          .row_begin = row_begin_,
          .kv_lengths = kv_lengths_,
          .pages = first(pages_, ints(page_begin_)[1]),
          .page_begin = page_begin_,
          .ring = {.slots = slots_, .row_begin = row_begin_, .counts = counts_, .into_ring = into_ring_},
          .logit_rows = first(logit_rows_, wanted)};
}

TensorView Session::step(const Rows& rows) {
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  ensure(rows.position + count <= options_.most_tokens, ErrorKind::BadInput,
         "{} tokens and {} more are over the {} that this session has room for", rows.position, count,
         options_.most_tokens);
  arena_.reset();
  model::ForwardOut out;
  ops::Exec one = exec();
  model_.forward(one, batch_of(rows), cache_, out);
  hidden_ = out.hidden;
  return out.logits;
}

TensorView Session::run(std::span<const std::int32_t> tokens, Logits logits) {
  ensure(!tokens.empty(), "nothing to run");
  ensure(verified_rows_ == 0, "keep() must follow verify()");
  if (tokens.size() == 1) {
    const TensorView out = verify(tokens);
    keep(1);
    return out;
  }
  const auto chunk = static_cast<std::size_t>(options_.chunk_rows);
  ensure(logits == Logits::Last || tokens.size() <= chunk, "logits of all {} rows are wanted, a chunk has {}",
         tokens.size(), chunk);
  TensorView out;
  for (std::size_t done = 0; done < tokens.size(); done += chunk) {
    const auto part = tokens.subspan(done, std::min(chunk, tokens.size() - done));
    out = step({.tokens = part, .position = length_, .all_logits = logits == Logits::All});
    ints(counts_)[0] = 0;  // a prompt goes straight into the state
    length_ += static_cast<std::int64_t>(part.size());
  }
  return out;
}

TensorView Session::verify(std::span<const std::int32_t> tokens) {
  ensure(!tokens.empty() && tokens.size() <= static_cast<std::size_t>(ops::kRingRows),
         "{} rows to verify, a ring holds {}", tokens.size(), ops::kRingRows);
  ensure(verified_rows_ == 0, "keep() must follow verify()");
  const TensorView out = step({.tokens = tokens, .position = length_, .into_ring = true, .all_logits = true});
  verified_rows_ = static_cast<std::int64_t>(tokens.size());
  return out;
}

void Session::keep(std::int64_t rows) {
  ensure(rows >= 1 && rows <= verified_rows_, "{} of {} verified rows cannot be kept", rows, verified_rows_);
  ints(counts_)[0] =
      ops::ring_count_after(ints(counts_)[0], static_cast<int>(verified_rows_), static_cast<int>(rows));
  length_ += rows;
  verified_rows_ = 0;
}

model::ForwardOut Session::draft(const TensorView& hidden, std::span<const std::int32_t> next,
                                 std::int64_t position, Logits logits) {
  // Not reset: `hidden` lies in the arena. The draft head's activations come behind the main model's.
  model::ForwardOut out;
  ops::Exec one = exec();
  model_.draft(one, batch_of({.tokens = next, .position = position, .all_logits = logits == Logits::All}),
               hidden, cache_, out);
  return out;
}

}  // namespace redline::runtime
