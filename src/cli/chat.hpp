// `chat`: a conversation in the terminal.
#pragma once

#include <optional>
#include <string>

#include "cli/local_model.hpp"

namespace redline::cli {

struct ChatOptions {
  ModelOptions model;
  SamplingOptions sampling;
  std::optional<std::string> system;
  std::optional<std::string> chat_template;  // file
  std::optional<bool> thinking;
};

int run_chat(const ChatOptions& options);

}  // namespace redline::cli
