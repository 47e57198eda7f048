// Whole answers on the golden checkpoints: drafts on and off, seeds, limits, and that rejected guesses leave
// no trace.
#include "runtime/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "core/error.hpp"
#include "core/philox.hpp"
#include "runtime/golden_model.hpp"

namespace redline::runtime {
namespace {

using namespace test;

constexpr Session::Options kSmall{.most_tokens = 192, .chunk_rows = 24, .page_tokens = 16};

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random_bits(seed, static_cast<std::uint64_t>(i), 0) %
                                               static_cast<std::uint64_t>(vocabulary)));
  }
  return tokens;
}

Request request_of(const GoldenModel& model, int drafts, float temperature, std::int64_t prompt = 37,
                   std::int64_t answer = 60) {
  Request request;
  request.prompt = random_tokens(prompt, model.model().info().vocabulary, 5);
  request.sampling = {.temperature = temperature, .seed = 17};
  request.max_tokens = answer;
  request.drafts = drafts;
  return request;
}

Answer answer_of(GoldenModel& model, const Request& request) {
  Session session(model.model(), model.device, model.choices, kSmall);
  return generate(session, request, [](std::int32_t) { return true; });
}

class Generate : public testing::TestWithParam<std::string> {};

// "Equal output" of docs/architecture.md: a token may differ only where the plain run's two best logits lie
// closer than the model bound. On the references with F32 activations nothing rounds enough for that, so
// every token must be the same.
TEST_P(Generate, SameTextWithDraftsAndWithout) {
  GoldenModel model(GetParam(), true);
  if (!model.drafts()) GTEST_SKIP() << "no draft head in this checkpoint";
  const Answer plain = answer_of(model, request_of(model, 0, 0, 37, 24));
  for (const int drafts : {1, 2, 3, 8}) {
    const Answer drafted = answer_of(model, request_of(model, drafts, 0, 37, 24));
    EXPECT_EQ(drafted.tokens, plain.tokens) << drafts << " drafts";
    EXPECT_GT(drafted.drafted[0], 0);
  }
}

TEST_P(Generate, SameTextWithDraftsInBf16UpToTies) {
  GoldenModel model(GetParam(), false);
  if (!model.drafts()) GTEST_SKIP() << "no draft head in this checkpoint";
  const Golden golden(redline::test::golden_dir() / "checkpoints" / GetParam() / "logits.safetensors");
  const double bound = 1.5 * distance(rows_of(golden.view("bf16")), rows_of(golden.view("fp32")));
  const Request request = request_of(model, 0, 0);
  const Answer plain = answer_of(model, request);
  ASSERT_EQ(plain.tokens.size(), 60u);
  int ties = 0;
  for (int drafts = 1; drafts <= 8; ++drafts) {
    Request with = request;
    with.drafts = drafts;
    const Answer drafted = answer_of(model, with);
    ASSERT_EQ(drafted.tokens.size(), plain.tokens.size());
    const auto differ = std::mismatch(plain.tokens.begin(), plain.tokens.end(), drafted.tokens.begin());
    if (differ.first == plain.tokens.end()) continue;
    ++ties;
    // The plain run's logits at that place.
    std::vector<std::int32_t> prefix = request.prompt;
    prefix.insert(prefix.end(), plain.tokens.begin(), differ.first);
    Session session(model.model(), model.device, model.choices, kSmall);
    std::vector<double> logits = row_of(session.run(prefix), 0);
    double norm = 0;
    for (const double value : logits) norm += value * value;
    std::sort(logits.rbegin(), logits.rend());
    EXPECT_LT(logits[0] - logits[1], 2 * bound * std::sqrt(norm))
        << drafts << " drafts, token " << differ.first - plain.tokens.begin();
  }
  std::printf("%s: %d of 8 draft depths met a tie\n", GetParam().c_str(), ties);
}

TEST_P(Generate, SameSeedSameTextWithDraftsAndWithout) {
  GoldenModel model(GetParam(), true);
  if (!model.drafts()) GTEST_SKIP() << "no draft head in this checkpoint";
  Request request = request_of(model, 0, 0.8f, 20, 16);
  request.sampling.top_k = 40;
  request.sampling.presence_penalty = 0.5f;
  const Answer plain = answer_of(model, request);
  request.drafts = 3;
  EXPECT_EQ(answer_of(model, request).tokens, plain.tokens);
  request.drafts = 0;
  request.sampling.seed = 18;
  EXPECT_NE(answer_of(model, request).tokens, plain.tokens);
}

// Guesses rejected at each depth: what follows is what follows a clean decode of the accepted rows. The ring
// is filled past its end on the way.
TEST_P(Generate, RejectedGuessesLeaveNoTrace) {
  GoldenModel model(GetParam(), true);
  const std::int64_t vocabulary = model.model().info().vocabulary;
  const std::vector<std::int32_t> tokens = random_tokens(80, vocabulary, 9),
                                  wrong = random_tokens(9, vocabulary, 10);
  const std::span<const std::int32_t> all(tokens);
  Session clean(model.model(), model.device, model.choices, kSmall),
      guessing(model.model(), model.device, model.choices, kSmall);
  clean.run(all.first(20));
  guessing.run(all.first(20));
  std::size_t at = 20;
  for (std::size_t depth = 1; depth <= 8; ++depth) {
    std::vector<std::int32_t> rows(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                   tokens.begin() + static_cast<std::ptrdiff_t>(at + depth));
    rows.insert(rows.end(), wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(9 - depth));
    const Rows found = rows_of(guessing.verify(rows));
    guessing.keep(static_cast<std::int64_t>(depth));
    for (std::size_t i = 0; i < depth; ++i) {
      const Rows expected = rows_of(clean.run(all.subspan(at + i, 1)));
      EXPECT_LT(distance({found[i]}, expected), 1e-5) << "depth " << depth << ", row " << i;
    }
    at += depth;
    ASSERT_EQ(guessing.length(), clean.length());
  }
}

// Prefill of n tokens followed by decode equals prefill of n + 1.
TEST_P(Generate, PrefillThenDecodeEqualsPrefill) {
  GoldenModel model(GetParam(), true);
  const std::vector<std::int32_t> tokens = random_tokens(66, model.model().info().vocabulary, 21);
  const std::span<const std::int32_t> all(tokens);
  for (const std::size_t n : {1u, 3u, 23u, 24u, 25u, 63u, 64u, 65u}) {
    Session one(model.model(), model.device, model.choices, kSmall),
        two(model.model(), model.device, model.choices, kSmall);
    one.run(all.first(n));
    const Rows decoded = rows_of(one.run(all.subspan(n, 1)));
    const Rows whole = rows_of(two.run(all.first(n + 1)));
    EXPECT_LT(distance(decoded, whole), 1e-5) << n << " tokens";
  }
}

// A chat goes on where the session stands: question and answer, then only what is new. A fresh session given
// everything must answer the same.
TEST_P(Generate, ASecondQuestionContinuesTheSequence) {
  GoldenModel model(GetParam(), true);
  Session session(model.model(), model.device, model.choices, kSmall);
  const auto go_on = [](std::int32_t) { return true; };
  Request request = request_of(model, 0, 0, 37, 12);
  std::vector<std::int32_t> said = request.prompt;
  const Answer first = generate(session, request, go_on);
  said.insert(said.end(), first.tokens.begin(), first.tokens.end());
  const std::vector<std::int32_t> question = random_tokens(19, model.model().info().vocabulary, 6);
  said.insert(said.end(), question.begin(), question.end());
  Request whole = request;
  whole.prompt = said;
  request.prompt.assign(said.begin() + static_cast<std::ptrdiff_t>(session.length()),
                        said.end());  // the last token was never run
  EXPECT_EQ(request.prompt.size(), question.size() + 1);
  EXPECT_EQ(generate(session, request, go_on).tokens, answer_of(model, whole).tokens);
}

TEST(GenerateLimits, AreSaid) {
  GoldenModel model("dense-bf16", false);
  Session session(model.model(), model.device, model.choices, kSmall);
  const auto message = [&](const Request& request) -> std::string {
    try {
      generate(session, request, [](std::int32_t) { return true; });
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  Request request = request_of(model, 0, 0);
  request.prompt.clear();
  EXPECT_EQ(message(request), "the prompt is empty; at least one token is needed to continue from");
  request.prompt = {0, 336};
  EXPECT_EQ(message(request), "prompt token 1 is id 336, the model knows 0 to 335");
  request.prompt = {-1};
  EXPECT_EQ(message(request), "prompt token 0 is id -1, the model knows 0 to 335");
  request.prompt.assign(193, 1);
  EXPECT_EQ(message(request),
            "the prompt has 193 tokens (0 before it), the context holds 192; raise --max-model-len");
  request.prompt = {1};
  request.max_tokens = 0;
  EXPECT_EQ(message(request), "max_tokens is 0, expected at least 1");
  request.max_tokens = 1;
  request.drafts = 16;
  EXPECT_EQ(message(request), "16 drafts, expected 0 to 15");
}

TEST(GenerateLimits, EndAnswers) {
  GoldenModel model("dense-bf16", false);
  Request request = request_of(model, 0, 0, 180, 60);
  const Answer full =
      answer_of(model, request);  // 192 positions: 180 of the prompt, 12 answers run, one more drawn
  EXPECT_EQ(full.tokens.size(), 13u);
  EXPECT_EQ(full.reason, StopReason::Length);
  request.drafts = 3;
  EXPECT_EQ(answer_of(model, request).tokens.size(), 13u);
  request.drafts = 0;
  request.stop_ids = {full.tokens[4]};
  const Answer stopped = answer_of(model, request);
  EXPECT_EQ(stopped.reason, StopReason::Stop);
  EXPECT_EQ(stopped.tokens.back(), full.tokens[4]);
  Session session(model.model(), model.device, model.choices, kSmall);
  const Answer cut =
      generate(session, request_of(model, 3, 0), [count = 0](std::int32_t) mutable { return ++count < 7; });
  EXPECT_EQ(cut.tokens.size(), 7u);
  EXPECT_EQ(cut.reason, StopReason::Caller);
  EXPECT_EQ(session.length(), 37 + 6);  // the seventh was drawn and not run
}

INSTANTIATE_TEST_SUITE_P(All, Generate, testing::ValuesIn(golden_checkpoints()), test_name);

}  // namespace
}  // namespace redline::runtime
