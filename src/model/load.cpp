// Opens the files, reads config.json, hands both to the architecture's loader.
#include "model/load.hpp"

#include <filesystem>
#include <optional>

#include "checkpoint/config_reader.hpp"
#include "checkpoint/quantization_config.hpp"
#include "core/error.hpp"
#include "device/arena.hpp"
#include "model/qwen3_5/loader.hpp"
#include "model/qwen3_5/sizes.hpp"

namespace redline::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ConfigValue;

struct Opened {
  qwen3_5::Config config;
  std::unique_ptr<Checkpoint> files;
  std::optional<checkpoint::QuantizationConfig> declared;
};

Opened open_folder(const std::filesystem::path& folder, bool shapes_only) {
  const std::filesystem::path config_file = folder / "config.json";
  Opened opened;
  // An architecture that is not ours is the first thing to say, whatever else the folder lacks.
  if (std::filesystem::exists(config_file)) {
    const ConfigValue config = checkpoint::read_config_file(config_file);
    opened.config = qwen3_5::read_config(config);
    std::optional<ConfigValue> other;
    if (const auto file = folder / "hf_quant_config.json"; std::filesystem::exists(file))
      other = checkpoint::read_config_file(file);
    opened.declared = checkpoint::QuantizationConfig::read(config, other);
  }
  opened.files = std::make_unique<Checkpoint>(shapes_only ? Checkpoint::open_for_inspection(folder)
                                                          : Checkpoint::open(folder));
  if (!std::filesystem::exists(config_file))
    opened.config = qwen3_5::read_config(checkpoint::read_config_file(config_file));
  return opened;
}

}  // namespace

LoadedModel load(const std::string& name, Device& device, const ops::ChoiceTable& choices,
                 const LoadOptions& options) {
  LoadedModel loaded;
  loaded.synthetic = name.starts_with(qwen3_5::kSyntheticPrefix);
  Opened opened;
  if (loaded.synthetic) {
    qwen3_5::Synthetic synthetic = qwen3_5::make_synthetic(name);
    opened.config = std::move(synthetic.config);
    opened.files = std::make_unique<Checkpoint>(std::move(synthetic.files));
  } else {
    opened = open_folder(name, options.shapes_only);
  }
  Arena scratch(device, std::size_t{1} << 20, Place::Host);
  ops::Exec exec{device, {}, scratch, choices};
  loaded.files = std::move(opened.files);
  loaded.census = qwen3_5::take_census(
      opened.config, *loaded.files, opened.declared ? &*opened.declared : nullptr, opened.config.positions);
  loaded.model = qwen3_5::load(opened.config, *loaded.files, exec, options);
  return loaded;
}

}  // namespace redline::model
