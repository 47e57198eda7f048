// spdlog behind log.hpp. One logger to stderr, made on first use.
#include "core/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>

#include "core/printable.hpp"

namespace redline::log {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> only = [] {
    auto made =
        std::make_shared<spdlog::logger>("redline", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return *only;
}

constexpr std::array<spdlog::level::level_enum, 5> kLevels = {
    spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err, spdlog::level::off};
constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warn", "error", "off"};

spdlog::level::level_enum to_spdlog(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

}  // namespace

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

std::optional<Level> level_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

bool enabled(Level level) { return logger().should_log(to_spdlog(level)); }

void write(Level level, std::string_view line) { logger().log(to_spdlog(level), without_controls(line)); }

}  // namespace redline::log
