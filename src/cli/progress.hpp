// How far long work has come, on stderr: one line that is written over on a terminal, plain lines every few
// seconds where stderr is not one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace redline::cli {

// What a line says. Rates count from `already`, what was there before the work began.
struct ProgressState {
  std::string what;                                // "quantize"
  std::uint64_t done = 0, total = 0, already = 0;  // bytes
  double seconds = 0;
};
std::string progress_line(
    const ProgressState& state);  // "quantize: 12 %, 8.1 of 67.0 GB, 410 MB/s, 2 min 24 s left"

class Progress {
 public:
  Progress(std::string what, std::uint64_t total, std::uint64_t already);
  ~Progress();  // takes the line off the terminal
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void report(std::uint64_t done);  // as often as one likes
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  ProgressState state_;
  bool terminal_, quiet_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  std::size_t shown_ = 0;  // characters of the line on the terminal
};

}  // namespace redline::cli
