// The table. A measured value replaces a datasheet's as soon as somebody has measured it
// (docs/performance.md).
#include "cli/gpu_table.hpp"

#include <array>
#include <charconv>

#include "core/error.hpp"

namespace redline::cli {
namespace {

struct Row {
  std::string_view name;
  double bytes_per_second;
  std::string_view origin;
};
constexpr std::array<Row, 4> kRows = {{{"h200", 4.54e12, "measured on an H200"},
                                       {"b200", 8.0e12, "datasheet"},
                                       {"rtx-pro-6000", 1.792e12, "datasheet"},
                                       {"rtx-5090", 1.792e12, "datasheet"}}};
constexpr int kMostDevices = 64;

}  // namespace

Bandwidth gpu_bandwidth(std::string_view name_and_count) {
  std::string known;
  for (const Row& row : kRows) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    if (!name_and_count.starts_with(row.name)) continue;
    std::string_view rest = name_and_count.substr(row.name.size());
    int devices = 1;
    if (!rest.empty()) {
      if (rest.front() != 'x') continue;
      rest.remove_prefix(1);
      const char* end = rest.data() + rest.size();
      const auto [stop, error] = std::from_chars(rest.data(), end, devices);
      ensure(error == std::errc() && stop == end && devices >= 1 && devices <= kMostDevices,
             ErrorKind::BadInput, "--gpu {}: expected a number from 1 to {} after the x, found \"{}\"",
             name_and_count, kMostDevices, rest);
    }
    return {std::string(row.name), devices, row.bytes_per_second, true, std::string(row.origin)};
  }
  fail(ErrorKind::BadInput, "--gpu {}: not known; known are {}, with xN for several (h200x2)", name_and_count,
       known);
}

}  // namespace redline::cli
