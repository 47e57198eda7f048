// The tables. Shares are printed as people say them, in percent; in JSON they lie between 0 and 1.
#include "cli/bench_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/units.hpp"
#include "core/version.hpp"

namespace redline::cli {
namespace {

using nlohmann::json;

json profile_of(const std::vector<OperatorRow>& rows) {
  json list = json::array();
  for (const OperatorRow& row : rows) {
    list.push_back({{"operator", row.operation},
                    {"candidate", row.candidate},
                    {"calls", row.calls},
                    {"us", row.us},
                    {"bytes", row.bytes},
                    {"share", row.share}});
  }
  return list;
}

std::string table_of(const std::vector<OperatorRow>& rows, const std::string& heading) {
  std::string text = fmt::format("\n{}\n  {:<16} {:<22} {:>6} {:>11} {:>7} {:>10} {:>11}\n", heading,
                                 "operator", "candidate", "calls", "us", "time", "bytes", "of memory");
  double total = 0;
  for (const OperatorRow& row : rows) total += row.us;
  for (const OperatorRow& row : rows) {
    text += fmt::format("  {:<16} {:<22} {:>6.0f} {:>11.1f} {:>6.1f}% {:>10} {:>11}\n", row.operation,
                        row.candidate, row.calls, row.us, 100 * row.us / total,
                        row.bytes > 0 ? units::decimal_bytes(static_cast<std::uint64_t>(row.bytes)) : "-",
                        row.bytes > 0 ? fmt::format("{:.0f}%", 100 * row.share) : "-");
  }
  return text;
}

}  // namespace

std::string to_json(const BenchReport& report) {
  json out{{"model", report.model},
           {"precision", report.precision},
           {"device", report.device},
           {"device_name", report.device_name},
           {"devices", 1},
           {"threads", report.threads},
           {"commit", kCommit},
           {"date", report.date},
           {"ceiling_bandwidth_bytes_per_s", report.bandwidth},
           {"compute_peak_flops", report.compute_peak},
           {"compute_peak_instructions", report.compute_instructions},
           {"decode", json::array()},
           {"prefill", json::array()}};
  for (const DecodeRow& row : report.decode) {
    out["decode"].push_back({{"concurrency", 1},
                             {"context", row.context},
                             {"drafts", row.drafts},
                             {"simulated_acceptance", nullptr},
                             {"steps", row.steps},
                             {"tokens_per_s", row.tokens_per_s},
                             {"step_us", row.step_us},
                             {"step_us_p99", row.step_us_p99},
                             {"emitted_per_step", row.emitted_per_step},
                             {"bytes_per_step", row.bytes_per_step},
                             {"ceiling_tokens_per_s", row.ceiling_tokens_per_s},
                             {"share", row.share}});
  }
  for (const PrefillRow& row : report.prefill) {
    out["prefill"].push_back({{"tokens", row.tokens},
                              {"tokens_per_s", row.tokens_per_s},
                              {"ttft_ms", row.ttft_ms},
                              {"spread", row.spread},
                              {"flops_share", row.flops_share}});
  }
  out["profile"] = profile_of(report.decode_profile);
  out["prefill_profile"] = profile_of(report.prefill_profile);
  return out.dump(2) + "\n";
}

std::string to_text(const BenchReport& report) {
  std::string text = fmt::format(
      "{} {}\n  {} with {} threads: memory {}, arithmetic {:.1f} GFLOP/s ({}), both measured now\n",
      report.model, report.precision, report.device_name, report.threads, units::byte_rate(report.bandwidth),
      report.compute_peak / 1e9, report.compute_instructions);
  for (const DecodeRow& row : report.decode) {
    text += fmt::format(
        "\n  decode at context {}{}: {}, a step {} (99 % under {}), {} a step; ceiling {}: share {:.1f} %\n",
        row.context,
        row.drafts > 0 ? fmt::format(", {} drafts ({:.2f} tokens a step)", row.drafts, row.emitted_per_step)
                       : "",
        units::rate(row.tokens_per_s, "tokens"), units::duration(row.step_us * 1e-6),
        units::duration(row.step_us_p99 * 1e-6),
        units::decimal_bytes(static_cast<std::uint64_t>(row.bytes_per_step)),
        units::rate(row.ceiling_tokens_per_s, "tokens"), 100 * row.share);
  }
  for (const PrefillRow& row : report.prefill) {
    text += fmt::format(
        "  prompt of {} tokens: {}, first token after {} (spread {:.0f} %); share of the arithmetic {:.1f} "
        "%\n",
        row.tokens, units::rate(row.tokens_per_s, "tokens"), units::duration(row.ttft_ms * 1e-3),
        100 * row.spread, 100 * row.flops_share);
  }
  if (!report.decode_profile.empty()) text += table_of(report.decode_profile, "  where a decode step goes");
  if (!report.prefill_profile.empty()) text += table_of(report.prefill_profile, "  where a prompt goes");
  return text;
}

}  // namespace redline::cli
