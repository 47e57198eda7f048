// `generate`: one completion of a prompt.
#pragma once

#include <optional>
#include <string>

#include "cli/local_model.hpp"

namespace redline::cli {

struct GenerateOptions {
  ModelOptions model;
  SamplingOptions sampling;
  std::optional<std::string> prompt;  // none: standard input
  std::optional<std::string> system;
  std::optional<std::string> chat_template;  // file
  std::optional<bool> thinking;
  std::optional<std::string> logits;  // file to write
  bool raw = false;                   // no template: the text is continued as it stands
  bool json = false;
};

int run_generate(const GenerateOptions& options);

}  // namespace redline::cli
