// Each function rounds first and picks its unit from the rounded number, so that nothing reads "1024.0 KiB"
// or "60 s".
#include "core/units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace redline::units {
namespace {

// The unit in which `value` reads below `step`, to one decimal.
std::string scaled(std::uint64_t value, double step, std::span<const char* const> names) {
  if (static_cast<double>(value) < step) return fmt::format("{}{}", value, names[0]);
  double scaled_value = static_cast<double>(value);
  std::size_t unit = 0;
  while (unit + 1 < names.size() && std::round(scaled_value * 10) / 10 >= step) {
    scaled_value /= step;
    ++unit;
  }
  return fmt::format("{:.1f}{}", scaled_value, names[unit]);
}

// Three digits that count: "4.54", "21.8", "409". Larger numbers keep all their digits.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string binary_bytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  return scaled(bytes, 1024, kNames);
}

std::string decimal_bytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
  return scaled(bytes, 1000, kNames);
}

std::string grouped(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, 1, ',');
  return text;
}

std::string short_count(std::uint64_t count) {
  constexpr const char* kNames[] = {"", " K", " M", " B", " T"};
  return scaled(count, 1000, kNames);
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-6) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return three_digits(seconds) + " s";
  const auto whole_seconds = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole_seconds < 3600) return fmt::format("{} min {:02} s", whole_seconds / 60, whole_seconds % 60);
  const std::uint64_t minutes = (whole_seconds + 30) / 60;
  return fmt::format("{} h {:02} min", grouped(minutes / 60), minutes % 60);
}

std::string rate(double per_second, std::string_view what) {
  if (!std::isfinite(per_second)) return fmt::format("? {}/s", what);
  return fmt::format("{} {}/s", three_digits(per_second), what);
}

std::string byte_rate(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second) || bytes_per_second < 0) return "? B/s";
  constexpr const char* kNames[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kNames) && bytes_per_second >= 999.5) {
    bytes_per_second /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(bytes_per_second), kNames[unit]);
}

}  // namespace redline::units
