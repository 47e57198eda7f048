// The golden checkpoints as tests of the runtime use them: the stored logits of the reference implementation,
// and the model on a CPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "core/file_map.hpp"
#include "device/cpu/cpu_device.hpp"
#include "model/load.hpp"
#include "ops/elements.hpp"
#include "runtime/session.hpp"
#include "support/paths.hpp"

namespace redline::runtime::test {

// logits.safetensors of a golden checkpoint: `tokens`, `rows`, `fp32`, `bf16`, and `draft_…` where there is a
// draft head.
class Golden {
 public:
  explicit Golden(const std::filesystem::path& file) : map_(file) {
    std::vector<std::string> faults;
    header_ = checkpoint::read_header(map_.bytes(), file.filename().string(), faults);
    if (!faults.empty()) throw std::runtime_error(faults.front());
  }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  TensorView view(const std::string& name) const {
    const checkpoint::HeaderTensor* tensor = find(name);
    if (tensor == nullptr) throw std::runtime_error("no " + name);
    return dense_view(const_cast<std::byte*>(map_.bytes().data() + header_.header_bytes + tensor->begin),
                      tensor->dtype, tensor->shape);
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

inline std::vector<double> row_of(const TensorView& view, std::int64_t row) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < view.shape[1]; ++i) values.push_back(ops::load(view, {row, i}));
  return values;
}

inline Rows rows_of(const TensorView& view) {
  Rows rows;
  for (std::int64_t r = 0; r < view.shape[0]; ++r) rows.push_back(row_of(view, r));
  return rows;
}

inline double distance(const Rows& found, const Rows& reference) {
  double difference = 0, size = 0;
  for (std::size_t r = 0; r < reference.size(); ++r) {
    for (std::size_t i = 0; i < reference[r].size(); ++i) {
      difference += std::pow(found[r][i] - reference[r][i], 2);
      size += std::pow(reference[r][i], 2);
    }
  }
  return std::sqrt(difference / size);
}

// A golden checkpoint on two threads: in BF16 on the chosen candidates, or in F32 on the operators'
// references.
struct GoldenModel {
  CpuDevice device{2};
  ops::ChoiceTable choices;
  model::LoadedModel loaded;

  GoldenModel(const std::string& name, bool exact) {
    if (exact) choices.use_references();
    loaded = model::load((redline::test::golden_dir() / "checkpoints" / name).string(), device, choices,
                         {.activations = exact ? DType::F32 : DType::BF16});
  }
  const model::Model& model() const { return *loaded.model; }
  bool drafts() const { return model().info().mtp_layers > 0; }
};

inline std::vector<std::string> golden_checkpoints() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(redline::test::golden_dir() / "checkpoints")) {
    if (std::filesystem::exists(entry.path() / "logits.safetensors"))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string test_name(const testing::TestParamInfo<std::string>& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace redline::runtime::test
