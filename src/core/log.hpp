// Logging: log::info("loaded {} of {}", a, b). Lines go to stderr; reports go to stdout and never pass
// through here. log.cpp alone includes spdlog (3.6 s a file).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace redline::log {

enum class Level : std::uint8_t { Debug, Info, Warn, Error, Off };

void set_level(Level level);
std::optional<Level> level_from_name(std::string_view name);  // debug, info, warn, error, off
bool enabled(Level level);
void write(Level level, std::string_view line);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Debug)) write(Level::Debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Info)) write(Level::Info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Warn)) write(Level::Warn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::Error)) write(Level::Error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace redline::log
