// What there is to say about an answer besides its text: counts, speeds, drafts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/request.hpp"

namespace redline::cli {

nlohmann::json report_of(const runtime::Answer& answer, const runtime::Request& request,
                         std::int64_t prompt_tokens);
std::string line_of(const runtime::Answer& answer, std::int64_t prompt_tokens);  // for people
std::string_view name_of(runtime::StopReason reason);                            // "stop", "length", "caller"
double decode_rate(const runtime::Answer& answer);  // tokens/s behind the first token; 0 where there is none

}  // namespace redline::cli
