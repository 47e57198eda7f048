// Takes every part of a model from a checkpoint: decides layouts by name, checks shapes against the config,
// and notes what is missing or broken instead of stopping at the first trouble. Loading stops if there was
// any; `inspect` lists them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/inventory.hpp"
#include "model/qwen3_5/weights.hpp"
#include "quant/scheme.hpp"

namespace redline::model::qwen3_5 {

inline constexpr std::size_t kFormats = 7;  // of quant::Format

// What the files hold of one part.
struct Taken {
  const Part* part = nullptr;
  bool fused = false;         // Experts: the layout
  std::int64_t matrices = 0;  // found; Plain and Weight: 0 or 1
  std::int64_t matrices_needed = 1;
  std::int64_t parameters = 0, bytes = 0;  // scales count as bytes, not as parameters
  std::int64_t idle_bytes = 0;  // of these: scales of activations, which BF16 activations do not read
  std::int64_t tensors = 0;
  std::int64_t broken_tensors = 0;  // there, but part of no whole weight
  std::array<std::int64_t, kFormats> bytes_of_format{};
};

struct TakenModel {
  TakenModel() = default;
  TakenModel(TakenModel&&) = default;  // `taken` points into `parts`, which a move keeps and a copy would not
  TakenModel& operator=(TakenModel&&) = default;

  std::vector<Part> parts;   // of the text model, then of the MTP layers
  std::vector<Taken> taken;  // one for each part
  std::int64_t mtp_layers = 0;
  std::int64_t mtp_tensors = 0;  // all of "mtp.…" in the files
  std::int64_t kv_scales = 0, kv_scale_bytes = 0;
  std::vector<std::string> mtp_missing;
  Taken vision;
  std::vector<std::string> faults, notes;
};

// An MTP head that is not there, or not whole, is no fault: the model runs without drafts, and the report
// says so. One that contradicts the config is.
TakenModel take_model(const Config& config, checkpoint::Inventory& inventory);

}  // namespace redline::model::qwen3_5
