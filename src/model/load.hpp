// From what a user names to a model that can run: a checkpoint folder, or `synthetic:NAME[@PRECISION]`.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "device/device.hpp"
#include "model/model.hpp"
#include "model/qwen3_5/census.hpp"
#include "ops/choice.hpp"

namespace redline::model {

struct LoadOptions {
  DType activations = DType::BF16;  // F32 only together with references (tests)
  std::uint64_t seed = 1;           // of synthetic weights
  bool shapes_only =
      false;  // no weight is read or made: for dry runs, also of folders whose weights are not here
};

// The files come first: the model reads weights where their memory map has them.
struct LoadedModel {
  std::unique_ptr<checkpoint::Checkpoint> files;
  std::unique_ptr<Model> model;
  qwen3_5::Census census;  // bytes per token and the like, of these files
  bool synthetic = false;
};

// Strict: a tensor that is missing, or there and not known, stops the load with its name. Errors: BadInput
// for a name or an architecture that is not known, BadCheckpoint for files that are broken, Unsupported,
// OutOfMemory, Io.
LoadedModel load(const std::string& name, Device& device, const ops::ChoiceTable& choices,
                 const LoadOptions& options = {});

}  // namespace redline::model
