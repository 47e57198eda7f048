// Marks tensors as taken by their place in the checkpoint's list.
#include "checkpoint/inventory.hpp"

#include <array>

#include "checkpoint/safetensors.hpp"
#include "core/error.hpp"
#include "core/printable.hpp"

namespace redline::checkpoint {
namespace {

constexpr std::size_t kNamesShown = 4;

// Everything that may stand beside a weight, in any format (docs/formats.md).
constexpr std::array<std::string_view, 10> kBesideWeight = {".weight",         ".weight_packed",
                                                            ".weight_scale",   ".weight_scale_inv",
                                                            ".weight_scale_2", ".weight_global_scale",
                                                            ".input_scale",    ".input_global_scale",
                                                            ".bias",           ""};

}  // namespace

Inventory::Inventory(const Checkpoint& files) : files_(&files), taken_(files.tensors().size()) {}

std::size_t Inventory::index_of(const Tensor& tensor) const {
  return static_cast<std::size_t>(&tensor - files_->tensors().data());
}

const Tensor* Inventory::take(std::string_view internal_name) {
  const Tensor* tensor = files_->find(internal_name);
  if (tensor != nullptr) mark(*tensor);
  return tensor;
}

std::optional<Weight> Inventory::take_weight(std::string_view module) {
  std::optional<Weight> weight;
  try {
    weight = find_weight(*files_, module);
  } catch (const Error&) {
    for (const std::string_view suffix : kBesideWeight) take(fmt::format("{}{}", module, suffix));
    throw;
  }
  if (weight) {
    for (const Tensor* tensor : {weight->codes, weight->scale, weight->tensor_scale, weight->input_scale}) {
      if (tensor != nullptr) mark(*tensor);
    }
  }
  return weight;
}

std::vector<const Tensor*> Inventory::left_over() const {
  std::vector<const Tensor*> tensors;
  for (const Tensor& tensor : files_->tensors()) {
    if (!is_taken(tensor)) tensors.push_back(&tensor);
  }
  return tensors;
}

std::vector<std::string> Inventory::troubles() const {
  std::vector<std::string> sentences;
  if (!missing_.empty()) {
    sentences.push_back(fmt::format("{}: {} {} that the model needs and the files do not hold: {}",
                                    files_->name(), missing_.size(),
                                    missing_.size() == 1 ? "tensor" : "tensors", first_few(missing_)));
  }
  std::vector<std::string> names;
  for (const Tensor* tensor : left_over()) names.push_back(printable(tensor->name_on_disk));
  if (!names.empty()) {
    sentences.push_back(fmt::format("{}: {} {} in the files that the model has no use for: {}",
                                    files_->name(), names.size(), names.size() == 1 ? "tensor" : "tensors",
                                    first_few(names)));
  }
  return sentences;
}

void Inventory::check() const {
  const std::vector<std::string> sentences = troubles();
  if (!sentences.empty()) fail(ErrorKind::BadCheckpoint, "{}", sentences.front());
}

std::string first_few(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

}  // namespace redline::checkpoint
