// From a checkpoint to the weights of a model: everything is taken, checked and laid where the operators read
// it.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "model/load.hpp"
#include "model/model.hpp"
#include "model/qwen3_5/config.hpp"

namespace redline::model::qwen3_5 {

// Throws BadCheckpoint with the names of tensors that are missing, unknown or broken. An MTP head that is
// absent is no error (nothing can be drafted); one that is incomplete is named in the log and left out.
std::unique_ptr<Model> load(const Config& config, const checkpoint::Checkpoint& files, ops::Exec& exec,
                            const LoadOptions& options);

}  // namespace redline::model::qwen3_5
