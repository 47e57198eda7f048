// The model against the reference implementation on the golden checkpoints, by the two bounds of
// docs/architecture.md, section 9: BF16 on the fast operators within 1.5 times the reference's own BF16
// error, and F32 on the references of the operators within 1e-4. Each checkpoint's logits were stored for
// prefixes of several lengths, for decode steps behind the longest one, and for the draft head.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "runtime/golden_model.hpp"

namespace redline::runtime {
namespace {

using namespace test;

std::size_t largest(const std::vector<double>& row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

// Where the reference's two best logits lie further apart than the largest difference in that row could
// bridge, the choice must be the same.
void expect_same_choice(const Rows& found, const Rows& reference, double bound) {
  for (std::size_t r = 0; r < reference.size(); ++r) {
    std::vector<double> sorted = reference[r];
    std::sort(sorted.rbegin(), sorted.rend());
    double norm = 0;
    for (const double value : reference[r]) norm += value * value;
    // Two logits may each move by the row's whole error.
    if (sorted[0] - sorted[1] <= 2 * bound * std::sqrt(norm)) continue;
    EXPECT_EQ(largest(found[r]), largest(reference[r])) << "row " << r;
  }
}

class GoldenLogits : public testing::TestWithParam<std::string> {};

struct Outcome {
  Rows logits, drafts;
};

Outcome run(const std::string& name, const Golden& golden, bool exact) {
  GoldenModel golden_model(name, exact);
  const std::vector<std::int32_t> tokens = golden.integers("tokens"), rows = golden.integers("rows");
  const std::span<const std::int32_t> all(tokens);

  Outcome outcome;
  Session session(golden_model.model(), golden_model.device, golden_model.choices,
                  {.most_tokens = 256, .chunk_rows = 256, .page_tokens = 16});
  std::int64_t length = 0;
  for (const std::int32_t row : rows) {
    // Rows that follow each other are decode steps; the others are prefills of their own.
    if (length > 0 && row == length) {
      outcome.logits.push_back(row_of(session.run(all.subspan(static_cast<std::size_t>(row), 1)), 0));
    } else {
      session.reset();
      outcome.logits.push_back(row_of(session.run(all.first(static_cast<std::size_t>(row) + 1)), 0));
    }
    length = row + 1;
  }
  if (golden_model.drafts() && golden.has("draft_fp32")) {
    session.reset();
    session.run(all, Session::Logits::All);
    TensorView hidden = session.hidden();
    hidden.shape.sizes[0] = static_cast<std::int64_t>(all.size()) - 1;
    const TensorView drafts = session.draft(hidden, all.subspan(1), 0, Session::Logits::All).logits;
    for (const std::int32_t row : rows) {
      if (row < static_cast<std::int32_t>(all.size()) - 1) outcome.drafts.push_back(row_of(drafts, row));
    }
  }
  return outcome;
}

TEST_P(GoldenLogits, MatchTheReferenceImplementation) {
  const Golden golden(redline::test::golden_dir() / "checkpoints" / GetParam() / "logits.safetensors");
  const Rows fp32 = rows_of(golden.view("fp32"));
  const double e = distance(rows_of(golden.view("bf16")), fp32);

  const Outcome exact = run(GetParam(), golden, true);
  EXPECT_LT(distance(exact.logits, fp32), 1e-4);
  const Outcome rounded = run(GetParam(), golden, false);
  EXPECT_LT(distance(rounded.logits, fp32), 1.5 * e);
  expect_same_choice(rounded.logits, fp32, 1.5 * e);
  std::printf("%s: reference operators %.2e (bound 1e-4), BF16 %.4f (reference's own error %.4f)\n",
              GetParam().c_str(), distance(exact.logits, fp32), distance(rounded.logits, fp32), e);

  ASSERT_EQ(golden.has("draft_fp32"), !exact.drafts.empty());
  if (golden.has("draft_fp32")) {
    const Rows draft = rows_of(golden.view("draft_fp32"));
    const double draft_e = distance(rows_of(golden.view("draft_bf16")), draft);
    EXPECT_LT(distance(exact.drafts, draft), 1e-4);
    EXPECT_LT(distance(rounded.drafts, draft), 1.5 * draft_e);
    std::printf("%s: drafts: reference operators %.2e, BF16 %.4f (reference's own error %.4f)\n",
                GetParam().c_str(), distance(exact.drafts, draft), distance(rounded.drafts, draft), draft_e);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenLogits, testing::ValuesIn(golden_checkpoints()), test_name);

}  // namespace
}  // namespace redline::runtime
