// The model against the reference implementation on the golden checkpoints, by the two bounds of docs/architecture.md, section 9: BF16 on the fast operators within
// 1.5 times the reference's own BF16 error, and F32 on the references of the operators within 1e-4. Each checkpoint's logits were stored for prefixes of several lengths,
// for decode steps behind the longest one, and for the draft head.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/config_reader.hpp"
#include "checkpoint/safetensors.hpp"
#include "core/file_map.hpp"
#include "device/cpu/cpu_device.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/loader.hpp"
#include "ops/elements.hpp"
#include "runtime/session.hpp"
#include "support/paths.hpp"

namespace redline::runtime {
namespace {

namespace fs = std::filesystem;

// logits.safetensors of a golden checkpoint: `tokens`, `rows`, `fp32`, `bf16`, and `draft_…` where there is a draft head.
class Golden {
 public:
  explicit Golden(const fs::path& file) : map_(file) {
    std::vector<std::string> faults;
    header_ = checkpoint::read_header(map_.bytes(), file.filename().string(), faults);
    if (!faults.empty()) throw std::runtime_error(faults.front());
  }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  TensorView view(const std::string& name) const {
    const checkpoint::HeaderTensor* tensor = find(name);
    if (tensor == nullptr) throw std::runtime_error("no " + name);
    return dense_view(const_cast<std::byte*>(map_.bytes().data() + header_.header_bytes + tensor->begin), tensor->dtype, tensor->shape);
  }
  std::vector<std::int32_t> integers(const std::string& name) const {
    const TensorView tensor = view(name);
    std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.shape[0]));
    std::memcpy(values.data(), tensor.data, values.size() * 4);
    return values;
  }

 private:
  const checkpoint::HeaderTensor* find(const std::string& name) const {
    for (const checkpoint::HeaderTensor& tensor : header_.tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  FileMap map_;
  checkpoint::SafetensorsHeader header_;
};

using Rows = std::vector<std::vector<double>>;

std::vector<double> row_of(const TensorView& view, std::int64_t row) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < view.shape[1]; ++i) values.push_back(ops::load(view, {row, i}));
  return values;
}

Rows rows_of(const TensorView& view) {
  Rows rows;
  for (std::int64_t r = 0; r < view.shape[0]; ++r) rows.push_back(row_of(view, r));
  return rows;
}

double distance(const Rows& found, const Rows& reference) {
  double difference = 0, size = 0;
  for (std::size_t r = 0; r < reference.size(); ++r) {
    for (std::size_t i = 0; i < reference[r].size(); ++i) {
      difference += std::pow(found[r][i] - reference[r][i], 2);
      size += std::pow(reference[r][i], 2);
    }
  }
  return std::sqrt(difference / size);
}

std::size_t largest(const std::vector<double>& row) { return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()); }

// Where the reference's two best logits lie further apart than the largest difference in that row could bridge, the choice must be the same.
void expect_same_choice(const Rows& found, const Rows& reference, double bound) {
  for (std::size_t r = 0; r < reference.size(); ++r) {
    std::vector<double> sorted = reference[r];
    std::sort(sorted.rbegin(), sorted.rend());
    double norm = 0;
    for (const double value : reference[r]) norm += value * value;
    // Two logits may each move by the row's whole error.
    if (sorted[0] - sorted[1] > 2 * bound * std::sqrt(norm)) EXPECT_EQ(largest(found[r]), largest(reference[r])) << "row " << r;
  }
}

class GoldenLogits : public testing::TestWithParam<std::string> {};

struct Outcome {
  Rows logits, drafts;
};

Outcome run(const fs::path& folder, const Golden& golden, DType activations, bool references) {
  CpuDevice device(2);
  ops::ChoiceTable choices;
  if (references) choices.use_references();
  Arena loading(device, std::size_t{1} << 20, Place::Host);
  ops::Exec exec{device, {}, loading, choices};
  const checkpoint::Checkpoint files = checkpoint::Checkpoint::open(folder);
  const model::qwen3_5::Config config = model::qwen3_5::read_config(checkpoint::read_config_file(folder / "config.json"));
  const auto model = model::qwen3_5::load(config, files, exec, {.activations = activations});
  const std::vector<std::int32_t> tokens = golden.integers("tokens"), rows = golden.integers("rows");
  const std::span<const std::int32_t> all(tokens);

  Outcome outcome;
  Session session(*model, device, choices, {.most_tokens = 256, .chunk_rows = 256, .page_tokens = 16});
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
  if (model->info().mtp_layers > 0 && golden.has("draft_fp32")) {
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
  const fs::path folder = test::golden_dir() / "checkpoints" / GetParam();
  const Golden golden(folder / "logits.safetensors");
  const Rows fp32 = rows_of(golden.view("fp32"));
  const double e = distance(rows_of(golden.view("bf16")), fp32);

  const Outcome exact = run(folder, golden, DType::F32, true);
  EXPECT_LT(distance(exact.logits, fp32), 1e-4);
  const Outcome rounded = run(folder, golden, DType::BF16, false);
  EXPECT_LT(distance(rounded.logits, fp32), 1.5 * e);
  expect_same_choice(rounded.logits, fp32, 1.5 * e);
  std::printf("%s: reference operators %.2e (bound 1e-4), BF16 %.4f (reference's own error %.4f)\n", GetParam().c_str(), distance(exact.logits, fp32),
              distance(rounded.logits, fp32), e);

  ASSERT_EQ(golden.has("draft_fp32"), !exact.drafts.empty());
  if (golden.has("draft_fp32")) {
    const Rows draft = rows_of(golden.view("draft_fp32"));
    const double draft_e = distance(rows_of(golden.view("draft_bf16")), draft);
    EXPECT_LT(distance(exact.drafts, draft), 1e-4);
    EXPECT_LT(distance(rounded.drafts, draft), 1.5 * draft_e);
    std::printf("%s: drafts: reference operators %.2e, BF16 %.4f (reference's own error %.4f)\n", GetParam().c_str(), distance(exact.drafts, draft),
                distance(rounded.drafts, draft), draft_e);
  }
}

std::vector<std::string> checkpoints() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(test::golden_dir() / "checkpoints")) {
    if (fs::exists(entry.path() / "logits.safetensors")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenLogits, testing::ValuesIn(checkpoints()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace redline::runtime
