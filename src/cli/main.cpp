// redline: runs the command that was asked for, prints an Error as one line, sets the exit code.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/settings.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace redline::cli {
namespace {

struct Run {
  int operator()(const Message& message) const {
    fmt::print("{}", message.text);
    return 0;
  }
  int operator()(const InspectOptions& options) const { return run_inspect(options); }
  int operator()(const QuantizeOptions& options) const { return run_quantize(options); }
  int operator()(const TokenizeOptions& options) const { return run_tokenize(options); }
  int operator()(const GenerateOptions& options) const { return run_generate(options); }
  int operator()(const ChatOptions& options) const { return run_chat(options); }
  int operator()(const BenchOptions& options) const { return run_bench(options); }
};

// stdout may be a full disk: what was printed must have arrived before we claim success.
int flushed(int exit_code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fail(ErrorKind::Io, "cannot write to standard output; is the disk full or the reader gone?");
  }
  return exit_code;
}

int run(int argc, char** argv) {
  try {
    const Settings settings = read_settings(argc, argv);
    log::set_level(settings.log_level);
    return flushed(std::visit(Run{}, settings.command));
  } catch (const Error& error) {
    // Where an internal error was thrown helps whoever mends it; for the others the sentence says all.
    if (error.kind() == ErrorKind::Internal) {
      fmt::print(stderr, "redline: internal error: {} ({}:{})\n", error.what(), error.where().file_name(),
                 error.where().line());
    } else {
      fmt::print(stderr, "redline: {}\n", error.what());
    }
    return exit_code_of(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "redline: not enough memory\n");
    return exit_code_of(ErrorKind::OutOfMemory);
  } catch (const std::exception& error) {
    fmt::print(stderr, "redline: internal error: {}\n", error.what());
    return exit_code_of(ErrorKind::Internal);
  }
}

}  // namespace
}  // namespace redline::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE,
              SIG_IGN);  // `redline … | head` ends with an error code and a sentence, not with a signal
  return redline::cli::run(argc, argv);
}
