// Only the passing of time decides when something is printed.
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "core/log.hpp"
#include "core/units.hpp"

namespace redline::cli {
namespace {

constexpr double kTerminalSeconds = 0.2, kLineSeconds = 5;
constexpr double kSettledSeconds = 1;  // before that a rate says little about what is left

}  // namespace

std::string progress_line(const ProgressState& state) {
  const double percent =
      state.total > 0 ? 100 * static_cast<double>(state.done) / static_cast<double>(state.total) : 100;
  std::string line = fmt::format("{}: {:.0f} %, {} of {}", state.what, std::floor(percent),
                                 units::decimal_bytes(state.done), units::decimal_bytes(state.total));
  const std::uint64_t fresh = state.done > state.already ? state.done - state.already : 0;
  if (state.seconds < kSettledSeconds || fresh == 0) return line;
  const double rate = static_cast<double>(fresh) / state.seconds;
  line += fmt::format(", {}", units::byte_rate(rate));
  if (state.done < state.total) {
    line += fmt::format(", {} left", units::duration(static_cast<double>(state.total - state.done) / rate));
  }
  return line;
}

Progress::Progress(std::string what, std::uint64_t total, std::uint64_t already)
    : state_{.what = std::move(what), .done = already, .total = total, .already = already},
      terminal_(::isatty(STDERR_FILENO) == 1),
      quiet_(!log::enabled(log::Level::Info)) {}

Progress::~Progress() {
  if (shown_ > 0) fmt::print(stderr, "\r{:{}}\r", "", shown_);
}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::report(std::uint64_t done) {
  state_.done = done;
  const Clock::time_point now = Clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  if (quiet_ || since < (terminal_ ? kTerminalSeconds : kLineSeconds)) return;
  last_ = now;
  state_.seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = progress_line(state_);
  if (terminal_) {
    fmt::print(stderr, "\r{:{}}", line, shown_);
    shown_ = line.size();
  } else {
    fmt::print(stderr, "{}\n", line);
  }
  std::fflush(stderr);
}

}  // namespace redline::cli
