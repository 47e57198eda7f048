// Renders the report. Nothing is computed here but the ceiling.
#include "cli/inspect_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/printable.hpp"
#include "core/units.hpp"

namespace redline::cli {
namespace {

using checkpoint::Bytes;
using Json = nlohmann::ordered_json;
using model::qwen3_5::Group;
using model::qwen3_5::GroupCensus;
using model::qwen3_5::MtpState;

const char* json_name(Bytes weights) {
  switch (weights) {
    case Bytes::Here:
      return "here";
    case Bytes::NotHere:
      return "not_here";
    case Bytes::NamesOnly:
      return "names_only";
    case Bytes::Synthetic:
      return "synthetic";
  }
  return "?";
}

const char* sentence(Bytes weights) {
  switch (weights) {
    case Bytes::Here:
      return "weights here";
    case Bytes::NotHere:
      return "weights not here: the files end after their headers";
    case Bytes::NamesOnly:
      return "weights not here: only the index is; names decide the formats, shapes come from config.json";
    case Bytes::Synthetic:
      return "no files: weights are made when the model is loaded";
  }
  return "?";
}

const char* name_of(MtpState state) {
  switch (state) {
    case MtpState::Present:
      return "present";
    case MtpState::Absent:
      return "absent";
    case MtpState::Incomplete:
      return "incomplete";
  }
  return "?";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::uint64_t unsigned_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::string bytes_text(std::int64_t bytes) { return units::decimal_bytes(unsigned_of(bytes)); }

std::string agreement_text(const std::optional<bool>& agrees) {
  if (!agrees) return "-";
  return *agrees ? "yes" : "NO";
}

void add_groups(std::string& text, const InspectReport& report) {
  text += fmt::format("  {:<16}{:>12}{:>12}{:>10}  {:<26}{}\n", "group", "parameters", "bytes", "active",
                      "format", "config agrees");
  GroupCensus sum{.group = Group::Vision};
  for (const GroupCensus& group : report.census.groups) {
    std::string name(name_of(group.group));
    for (char& c : name) c = c == '_' ? ' ' : c;
    text += fmt::format("  {:<16}{:>12}{:>12}{:>10}  {:<26}{}\n", name,
                        units::short_count(unsigned_of(group.parameters)), bytes_text(group.bytes),
                        units::short_count(unsigned_of(group.active_parameters)), group.format,
                        agreement_text(group.config_agrees));
    sum.tensors += group.tensors;
    sum.parameters += group.parameters;
    sum.bytes += group.bytes;
    sum.active_parameters += group.active_parameters;
  }
  text += fmt::format("  {:<16}{:>12}{:>12}{:>10}  {} tensors\n\n", "all",
                      units::short_count(unsigned_of(sum.parameters)), bytes_text(sum.bytes),
                      units::short_count(unsigned_of(sum.active_parameters)),
                      units::grouped(unsigned_of(sum.tensors + report.census.kv.scales_found)));
}

void add_heads_and_caches(std::string& text, const InspectReport& report) {
  const auto& mtp = report.census.mtp;
  text += fmt::format("  MTP head        {}", name_of(mtp.state));
  if (mtp.tensors_expected > 0 || mtp.tensors_found > 0) {
    text += fmt::format(", {} of {} tensors", units::grouped(unsigned_of(mtp.tensors_found)),
                        units::grouped(unsigned_of(mtp.tensors_expected)));
  }
  text += mtp.dtype ? fmt::format(", {}\n", *mtp.dtype) : "\n";
  const auto& kv = report.census.kv;
  text += fmt::format("  KV cache        {}: {}\n\n", kv.fp8 ? "FP8" : "BF16", kv.reason);

  const auto& token = report.census.per_token;
  text += "  per decoded token, one sequence, without drafts\n";
  text += fmt::format("    weights              {:>10}\n", bytes_text(token.weight_bytes));
  text += fmt::format("    recurrent state      {:>10}  read and written\n", bytes_text(token.state_bytes));
  text += fmt::format("    keys and values      {:>10}  for each token of context\n",
                      bytes_text(token.kv_bytes_per_context_token));
  if (token.draft_bytes > 0) {
    text +=
        fmt::format("    one draft step more  {:>10}  of which the head {}\n", bytes_text(token.draft_bytes),
                    bytes_text(token.draft_bytes - token.draft_bytes_without_head));
  }
  text += "\n  memory\n";
  for (const auto& row : report.census.memory) {
    text += fmt::format("    {:<42}{:>12}\n", row.what, units::binary_bytes(unsigned_of(row.bytes)));
  }
}

void add_list(std::string& text, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += fmt::format("\n  {}\n", title);
  for (const std::string& line : lines) text += fmt::format("    {}\n", line);
}

}  // namespace

double InspectReport::tokens_per_second() const {
  const auto& token = census.per_token;
  const auto bytes = static_cast<double>(token.weight_bytes + token.state_bytes) +
                     static_cast<double>(context) * static_cast<double>(token.kv_bytes_per_context_token);
  return bytes > 0 ? bandwidth.devices * bandwidth.bytes_per_second / bytes : 0;
}

std::string to_json(const InspectReport& report) {
  Json groups = Json::array();
  for (const GroupCensus& group : report.census.groups) {
    groups.push_back({{"name", name_of(group.group)},
                      {"parameters", group.parameters},
                      {"bytes", group.bytes},
                      {"active_parameters", group.active_parameters},
                      {"format", group.format},
                      {"config_agrees", or_null(group.config_agrees)},
                      {"tensors", group.tensors},
                      {"bytes_per_token", group.token_bytes}});
  }
  Json memory = Json::array();
  for (const auto& row : report.census.memory) memory.push_back({{"what", row.what}, {"bytes", row.bytes}});
  const auto& token = report.census.per_token;
  const auto& mtp = report.census.mtp;
  const auto& kv = report.census.kv;
  Json json = {{"model",
                {{"name", report.name},
                 {"architecture", report.config.architecture},
                 {"layers", report.config.layers},
                 {"hidden", report.config.hidden},
                 {"weights", json_name(report.weights)}}},
               {"groups", groups},
               {"mtp",
                {{"state", name_of(mtp.state)},
                 {"tensors_found", mtp.tensors_found},
                 {"tensors_expected", mtp.tensors_expected},
                 {"dtype", or_null(mtp.dtype)}}},
               {"kv",
                {{"scales_found", kv.scales_found},
                 {"scales_expected", kv.scales_expected},
                 {"dtype", kv.fp8 ? "FP8" : "BF16"},
                 {"reason", kv.reason}}},
               {"per_token",
                {{"weight_bytes", token.weight_bytes},
                 {"state_bytes", token.state_bytes},
                 {"kv_bytes_per_context_token", token.kv_bytes_per_context_token},
                 {"draft_bytes", token.draft_bytes},
                 {"draft_bytes_without_head", token.draft_bytes_without_head}}},
               {"memory", memory},
               {"ceiling",
                {{"device", report.bandwidth.device},
                 {"devices", report.bandwidth.devices},
                 {"bandwidth_bytes_per_s", report.bandwidth.bytes_per_second},
                 {"bandwidth_source", report.bandwidth.from_table ? "table" : "measured"},
                 {"bandwidth_origin", report.bandwidth.origin},
                 {"context", report.context},
                 {"tokens_per_s", report.tokens_per_second()}}},
               {"faults", report.faults},
               {"notes", report.notes}};
  if (report.why) {
    Json rows = Json::array();
    for (const WhyRow& row : *report.why) {
      Json refusals = Json::array();
      for (const WhyRow::Refusal& refusal : row.refusals) {
        refusals.push_back(
            {{"reason", refusal.reason}, {"problems", refusal.problems}, {"example", refusal.example}});
      }
      rows.push_back({{"operator", row.operation},
                      {"candidate", row.candidate},
                      {"problems", row.problems},
                      {"runs", row.runs},
                      {"refusals", refusals}});
    }
    json["why"] = rows;
  }
  // Names come from foreign files and may hold bytes that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const InspectReport& report) {
  const auto& config = report.config;
  std::string text = fmt::format("{}\n  {}, {} layers ({} attention, {} delta-net), hidden {}", report.name,
                                 config.architecture, config.layers, config.attention_layers(),
                                 config.delta_layers(), config.hidden);
  if (config.moe)
    text += fmt::format(", {} experts of which {} for a token", config.moe->experts, config.moe->chosen);
  text += fmt::format("\n  {}\n\n", sentence(report.weights));
  add_groups(text, report);
  add_heads_and_caches(text, report);
  const Bandwidth& bandwidth = report.bandwidth;
  text += fmt::format("\n  ceiling         {}", units::rate(report.tokens_per_second(), "tokens"));
  if (report.context > 0)
    text += fmt::format(" at {} tokens of context", units::grouped(unsigned_of(report.context)));
  text += fmt::format(" on {}{}, {}{} ({})\n",
                      bandwidth.devices > 1 ? fmt::format("{} x ", bandwidth.devices) : "", bandwidth.device,
                      units::byte_rate(bandwidth.bytes_per_second), bandwidth.devices > 1 ? " each" : "",
                      bandwidth.origin);
  if (report.why) text += to_text(*report.why);
  add_list(text, "notes", report.notes);
  add_list(text, "faults: this checkpoint cannot be loaded", report.faults);
  return without_controls(text);
}

}  // namespace redline::cli
