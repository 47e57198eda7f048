// The prompt in chunks, then steps: guesses of the draft head, one verify step over them, the tokens that
// stand.
#include "runtime/generate.hpp"

#include <algorithm>
#include <chrono>

#include "core/error.hpp"
#include "ops/ring.hpp"
#include "runtime/row_sampler.hpp"

namespace redline::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Ids = std::span<const std::int32_t>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TensorView leading_rows(TensorView view, std::int64_t rows) {
  view.shape.sizes[0] = rows;
  return view;
}

TensorView one_row(TensorView view, std::int64_t row) {
  view.data = static_cast<std::byte*>(view.data) + row * view.strides[0] * bits_of(view.dtype) / 8;
  view.shape.sizes[0] = 1;
  return view;
}

class Generation {
 public:
  Generation(Session& session, const Request& request, const OnToken& on_token)
      : session_(session),
        request_(request),
        on_token_(on_token),
        sampler_(session.exec().device, request.sampling, vocabulary(session, request)) {
    answer_.drafted.assign(static_cast<std::size_t>(request.drafts), 0);
    answer_.accepted.assign(static_cast<std::size_t>(request.drafts), 0);
  }

  static std::int64_t vocabulary(const Session& session, const Request& request) {
    return request.vocabulary > 0 ? request.vocabulary : session.info().vocabulary;
  }

  Answer run() {
    const Clock::time_point start = Clock::now();
    std::int32_t first = prompt();
    answer_.prompt_seconds = seconds_since(start);
    const Clock::time_point decoding = Clock::now();
    if (emit(first)) decode();
    answer_.decode_seconds = seconds_since(decoding);
    return std::move(answer_);
  }

 private:
  // Runs the prompt and draws the first token. The draft head sees each row's hidden state and the token
  // behind it.
  std::int32_t prompt() {
    const auto chunk = static_cast<std::size_t>(session_.options().chunk_rows);
    const Ids all(request_.prompt);
    for (std::size_t begin = 0;; begin += chunk) {
      const Ids part = all.subspan(begin, std::min(chunk, all.size() - begin));
      const std::int64_t position = session_.length();
      const TensorView logits = session_.run(part);
      const bool last = begin + part.size() == all.size();
      std::int32_t next =
          last ? sampler_.draw(session_.exec(), logits, session_.length())[0] : all[begin + part.size()];
      if (request_.drafts > 0) {
        std::vector<std::int32_t> following(part.begin() + 1, part.end());
        following.push_back(next);
        start_draft(session_.hidden(), following, position);
      }
      if (last) return next;
    }
  }

  // The first guess, from rows of the main model; the draft head's cache has them all then.
  void start_draft(const TensorView& hidden, Ids following, std::int64_t position) {
    draft_ = session_.draft(hidden, following, position);
    // A prompt's draft gives a hidden row for each of its rows; only the last one goes on.
    draft_.hidden = one_row(draft_.hidden, static_cast<std::int64_t>(following.size()) - 1);
    draft_position_ = position + static_cast<std::int64_t>(following.size());
  }

  std::vector<std::int32_t> guesses(std::int64_t count) {
    std::vector<std::int32_t> ids;
    while (static_cast<std::int64_t>(ids.size()) < count) {
      ids.push_back(sampler_.most_likely(session_.exec(), draft_.logits)[0]);
      if (static_cast<std::int64_t>(ids.size()) == count) break;
      draft_ = session_.draft(draft_.hidden, Ids(ids).last(1), draft_position_++);
    }
    return ids;
  }

  void decode() {
    while (true) {
      const std::int64_t room = session_.options().most_tokens - session_.length();
      if (room < 1) return;  // the last token cannot be run any more
      // A guess that no answer can hold is not worth its row.
      const std::int64_t wanted = request_.max_tokens - static_cast<std::int64_t>(answer_.tokens.size());
      const std::int64_t count =
          std::max<std::int64_t>(std::min<std::int64_t>({request_.drafts, room - 1, wanted - 1}), 0);
      std::vector<std::int32_t> rows{answer_.tokens.back()};
      const std::vector<std::int32_t> guessed = guesses(count);
      rows.insert(rows.end(), guessed.begin(), guessed.end());
      const std::int64_t position = session_.length();
      const TensorView logits = session_.verify(rows);
      ++answer_.steps;
      const Ids drawn = sampler_.draw(session_.exec(), logits, position + 1, guessed);
      const std::vector<std::int32_t> stands(drawn.begin(), drawn.begin() + agreed(drawn, guessed));
      // The session holds no token behind the answer's last one, so that a conversation can go on from here.
      std::int64_t emitted = 0;
      bool more = true;
      while (more && emitted < static_cast<std::int64_t>(stands.size()))
        more = emit(stands[static_cast<std::size_t>(emitted++)]);
      session_.keep(emitted);
      if (!more) return;
      if (request_.drafts > 0)
        start_draft(leading_rows(session_.hidden(), static_cast<std::int64_t>(stands.size())), stands,
                    position);
    }
  }

  // How many drawn tokens stand: one more than the guesses that agree from the start.
  std::int64_t agreed(Ids drawn, Ids guessed) {
    std::size_t same = 0;
    while (same < guessed.size() && guessed[same] == drawn[same]) ++same;
    for (std::size_t i = 0; i < guessed.size(); ++i) {
      ++answer_.drafted[i];
      if (i < same) ++answer_.accepted[i];
    }
    return static_cast<std::int64_t>(same) + 1;
  }

  // False when the answer ends with this token.
  bool emit(std::int32_t token) {
    answer_.tokens.push_back(token);
    sampler_.took(token);
    const bool more = on_token_(token);
    if (std::find(request_.stop_ids.begin(), request_.stop_ids.end(), token) != request_.stop_ids.end()) {
      answer_.reason = StopReason::Stop;
      return false;
    }
    if (!more) {
      answer_.reason = StopReason::Caller;
      return false;
    }
    answer_.reason = StopReason::Length;
    return static_cast<std::int64_t>(answer_.tokens.size()) < request_.max_tokens;
  }

  Session& session_;
  const Request& request_;
  const OnToken& on_token_;
  RowSampler sampler_;
  Answer answer_;
  model::ForwardOut draft_;
  std::int64_t draft_position_ = 0;
};

void check(const Session& session, const Request& request) {
  const model::ModelInfo& info = session.info();
  const std::int64_t vocabulary = Generation::vocabulary(session, request);
  ensure(vocabulary <= info.vocabulary, ErrorKind::BadInput, "{} ids may be drawn, the model has {}",
         vocabulary, info.vocabulary);
  ensure(!request.prompt.empty(), ErrorKind::BadInput,
         "the prompt is empty; at least one token is needed to continue from");
  for (std::size_t i = 0; i < request.prompt.size(); ++i) {
    ensure(request.prompt[i] >= 0 && request.prompt[i] < info.vocabulary, ErrorKind::BadInput,
           "prompt token {} is id {}, the model knows 0 to {}", i, request.prompt[i], info.vocabulary - 1);
  }
  const auto length = session.length() + static_cast<std::int64_t>(request.prompt.size());
  ensure(length <= session.options().most_tokens, ErrorKind::BadInput,
         "the prompt has {} tokens ({} before it), the context holds {}; raise --max-model-len",
         request.prompt.size(), session.length(), session.options().most_tokens);
  ensure(request.max_tokens >= 1, ErrorKind::BadInput, "max_tokens is {}, expected at least 1",
         request.max_tokens);
  ensure(request.drafts >= 0 && request.drafts < ops::kRingRows, ErrorKind::BadInput,
         "{} drafts, expected 0 to {}", request.drafts, ops::kRingRows - 1);
  ensure(request.drafts == 0 || info.mtp_layers > 0, ErrorKind::BadInput,
         "{} has no draft head (MTP) that could guess; use --drafts 0", info.name);
}

}  // namespace

Answer generate(Session& session, const Request& request, const OnToken& on_token) {
  check(session, request);
  return Generation(session, request, on_token).run();
}

}  // namespace redline::runtime
