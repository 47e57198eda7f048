// Speeds count what they name: the prompt's tokens over the time to the first token, later tokens over the
// time behind it.
#include "cli/answer_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "core/units.hpp"

namespace redline::cli {
namespace {

double prompt_rate(const runtime::Answer& answer, std::int64_t tokens) {
  return answer.prompt_seconds > 0 ? static_cast<double>(tokens) / answer.prompt_seconds : 0;
}

}  // namespace

std::string_view name_of(runtime::StopReason reason) {
  switch (reason) {
    case runtime::StopReason::Stop:
      return "stop";
    case runtime::StopReason::Length:
      return "length";
    case runtime::StopReason::Caller:
      return "caller";
  }
  return "?";
}

double decode_rate(const runtime::Answer& answer) {
  return answer.tokens.size() > 1 && answer.decode_seconds > 0
             ? static_cast<double>(answer.tokens.size() - 1) / answer.decode_seconds
             : 0;
}

nlohmann::json report_of(const runtime::Answer& answer, const runtime::Request& request,
                         std::int64_t prompt_tokens) {
  nlohmann::json report{{"prompt_tokens", prompt_tokens},
                        {"completion_tokens", answer.tokens.size()},
                        {"stop_reason", name_of(answer.reason)},
                        {"seed", request.sampling.seed},
                        {"temperature", request.sampling.temperature},
                        {"time_to_first_token_s", answer.prompt_seconds},
                        {"prompt_tokens_per_s", prompt_rate(answer, prompt_tokens)},
                        {"tokens_per_s", decode_rate(answer)},
                        {"steps", answer.steps},
                        {"drafts", request.drafts}};
  report["drafted"] = answer.drafted;
  report["accepted"] = answer.accepted;
  return report;
}

std::string line_of(const runtime::Answer& answer, std::int64_t prompt_tokens) {
  std::string line = fmt::format("{} prompt tokens in {} ({}), {} tokens at {}", prompt_tokens,
                                 units::duration(answer.prompt_seconds),
                                 units::rate(prompt_rate(answer, prompt_tokens), "tokens"),
                                 answer.tokens.size(), units::rate(decode_rate(answer), "tokens"));
  const auto drafted = std::accumulate(answer.drafted.begin(), answer.drafted.end(), std::int64_t{0});
  const auto accepted = std::accumulate(answer.accepted.begin(), answer.accepted.end(), std::int64_t{0});
  if (drafted > 0) line += fmt::format(", {} of {} drafts accepted", accepted, drafted);
  if (answer.reason == runtime::StopReason::Length) line += "; ended by the limit of tokens";
  return line;
}

}  // namespace redline::cli
