// generation_config.json: how the makers of a checkpoint want its text drawn, and where an answer ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace redline::model {

struct GenerationDefaults {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int32_t> top_k;
  std::optional<bool> sample;               // do_sample; false: greedy
  std::vector<std::int32_t> end_of_answer;  // eos_token_id: one or several
};

// A folder without the file has no wishes. BadCheckpoint with the field's path where a value makes no sense.
GenerationDefaults read_generation_defaults(const std::filesystem::path& folder);

}  // namespace redline::model
