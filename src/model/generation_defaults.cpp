// Reads the fields that redline obeys; others belong to other programs (max_length, transformers_version …).
#include "model/generation_defaults.hpp"

#include <limits>

#include "checkpoint/config_reader.hpp"
#include "core/error.hpp"

namespace redline::model {
namespace {

using checkpoint::ConfigValue;

std::optional<float> number(const ConfigValue& root, std::string_view key, double least, double most) {
  const std::optional<ConfigValue> value = root.find(key);
  if (!value) return {};
  const double found = value->number();
  ensure(found >= least && found <= most, ErrorKind::BadCheckpoint, "{}: {} is outside {} to {}",
         value->where(), found, least, most);
  return static_cast<float>(found);
}

}  // namespace

GenerationDefaults read_generation_defaults(const std::filesystem::path& folder) {
  GenerationDefaults defaults;
  const std::filesystem::path file = folder / "generation_config.json";
  if (!std::filesystem::exists(file)) return defaults;
  const ConfigValue root = checkpoint::read_config_file(file);
  constexpr std::int64_t kMostId = std::numeric_limits<std::int32_t>::max();
  defaults.temperature = number(root, "temperature", 0, 100);
  defaults.top_p = number(root, "top_p", 0, 1);
  defaults.min_p = number(root, "min_p", 0, 1);
  defaults.repetition_penalty = number(root, "repetition_penalty", 1e-3, 1e3);
  if (const auto value = root.find("top_k"))
    defaults.top_k = static_cast<std::int32_t>(value->integer(0, kMostId));
  if (const auto value = root.find("do_sample")) defaults.sample = value->boolean();
  if (const auto value = root.find("eos_token_id")) {
    const std::vector<ConfigValue> ids =
        value->is_array() ? value->items() : std::vector<ConfigValue>{*value};
    for (const ConfigValue& id : ids)
      defaults.end_of_answer.push_back(static_cast<std::int32_t>(id.integer(0, kMostId)));
  }
  return defaults;
}

}  // namespace redline::model
