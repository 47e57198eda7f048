// Loads shapes alone, lets a session size itself, sorts what was noted.
#include "cli/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/cpu/cpu_device.hpp"
#include "model/load.hpp"
#include "ops/refusals.hpp"
#include "runtime/session.hpp"

namespace redline::cli {

std::vector<WhyRow> candidates_of(const std::string& model) {
  CpuDevice device;
  const ops::ChoiceTable choices;
  const model::LoadedModel loaded = model::load(model, device, choices, {.shapes_only = true});
  ops::Refusals found;
  const runtime::Session session(*loaded.model, device, choices, {.most_tokens = 1024, .refusals = &found});

  std::map<std::string, std::int64_t> problems;
  for (const auto& [key, candidate] : found.chosen) ++problems[key.first];
  std::vector<WhyRow> rows;
  for (const auto& [key, reason] : found.verdicts) {
    const auto& [operation, candidate, problem] = key;
    if (rows.empty() || rows.back().operation != operation || rows.back().candidate != candidate) {
      rows.push_back({.operation = operation, .candidate = candidate, .problems = problems[operation]});
    }
    WhyRow& row = rows.back();
    if (reason.empty()) {
      row.runs += found.chosen.at({operation, problem}) == candidate ? 1 : 0;
      continue;
    }
    const auto known = std::find_if(row.refusals.begin(), row.refusals.end(),
                                    [&](const auto& refusal) { return refusal.reason == reason; });
    if (known == row.refusals.end()) {
      row.refusals.push_back({reason, 1, problem});
    } else {
      ++known->problems;
    }
  }
  return rows;
}

std::string to_text(const std::vector<WhyRow>& rows) {
  std::string text =
      "\n  candidates of each operator on this machine's processors, for a prompt of 512 tokens and a decode "
      "step\n";
  for (const WhyRow& row : rows) {
    text += fmt::format("    {:<16} {:<22} runs {} of {} problems\n", row.operation, row.candidate, row.runs,
                        row.problems);
    for (const WhyRow::Refusal& refusal : row.refusals) {
      text += fmt::format("      refuses {}: {} ({})\n", refusal.problems, refusal.reason, refusal.example);
    }
  }
  return text;
}

}  // namespace redline::cli
