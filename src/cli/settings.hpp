// What the user asked for: a command with its options, from the command line and the environment.
// The only reader of the environment (docs/architecture.md); CLI11 stays behind this header.
#pragma once

#include <string>
#include <variant>

#include "cli/bench.hpp"
#include "cli/chat.hpp"
#include "cli/generate.hpp"
#include "cli/inspect.hpp"
#include "cli/quantize.hpp"
#include "cli/tokenize.hpp"
#include "core/log.hpp"

namespace redline::cli {

// Something to print before leaving: help or the version. Not an error.
struct Message {
  std::string text;
};

struct Settings {
  log::Level log_level = log::Level::Info;
  std::variant<Message, InspectOptions, QuantizeOptions, TokenizeOptions, GenerateOptions, ChatOptions,
               BenchOptions>
      command;
};

// Throws Error (BadInput) with one sentence and a hint where the arguments make no sense.
Settings read_settings(int argc, const char* const* argv);

}  // namespace redline::cli
