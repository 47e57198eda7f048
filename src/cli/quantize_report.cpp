// Renders the report.
#include "cli/quantize_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.hpp"

namespace redline::cli {
namespace {

using Json = nlohmann::ordered_json;

double rate_of(const QuantizeReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.fresh_bytes) / report.seconds : 0;
}

}  // namespace

std::string to_json(const QuantizeReport& report) {
  Json groups = Json::array();
  for (const checkpoint::RewriteError& error : report.errors) {
    groups.push_back({{"name", error.label},
                      {"format", quant::name_of(error.format)},
                      {"parameters", error.sums.weights},
                      {"relative_error", error.sums.relative()},
                      {"cosine", error.sums.cosine()}});
  }
  const Json json = {{"model", report.model},
                     {"to", report.to},
                     {"output", report.output},
                     {"source_bytes", report.source_bytes},
                     {"output_bytes", report.output_bytes},
                     {"shards", report.shards},
                     {"shards_kept", report.kept_shards},
                     {"seconds", report.seconds},
                     {"source_bytes_per_s", rate_of(report)},
                     {"groups", groups}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const QuantizeReport& report) {
  std::string text = fmt::format(
      "{} to {}: {} became {} in {} {}", report.model, report.to, units::decimal_bytes(report.source_bytes),
      units::decimal_bytes(report.output_bytes), report.shards, report.shards == 1 ? "shard" : "shards");
  if (report.kept_shards > 0) text += fmt::format(", {} of them there before", report.kept_shards);
  if (report.fresh_bytes > 0) {
    text +=
        fmt::format("; {}, {} of BF16", units::duration(report.seconds), units::byte_rate(rate_of(report)));
  }
  text += fmt::format("\n\n  {:<16}{:<16}{:>12}{:>16}{:>12}\n", "group", "format", "parameters",
                      "relative error", "cosine");
  for (const checkpoint::RewriteError& error : report.errors) {
    std::string name = error.label;
    for (char& c : name) c = c == '_' ? ' ' : c;
    text += fmt::format("  {:<16}{:<16}{:>12}{:>16.5f}{:>12.6f}\n", name, quant::name_of(error.format),
                        units::short_count(static_cast<std::uint64_t>(error.sums.weights)),
                        error.sums.relative(), error.sums.cosine());
  }
  return text + fmt::format("\n  {}\n", report.output);
}

}  // namespace redline::cli
