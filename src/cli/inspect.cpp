// Opens the checkpoint, takes the census, measures or looks up the bandwidth, prints.
#include "cli/inspect.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/config_reader.hpp"
#include "checkpoint/quantization_config.hpp"
#include "cli/gpu_table.hpp"
#include "cli/inspect_report.hpp"
#include "core/error.hpp"
#include "core/memory_bandwidth.hpp"
#include "core/threads.hpp"
#include "core/topology.hpp"
#include "model/qwen3_5/census.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/sizes.hpp"

namespace redline::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ConfigValue;
using checkpoint::QuantizationConfig;
namespace qwen = model::qwen3_5;

constexpr std::int64_t kLongestContext = std::int64_t{1} << 26;

Bandwidth measured_bandwidth() {
  const Topology topology = read_topology();
  ThreadPool pool(topology.usable_threads());
  const MemoryBandwidth memory = measure_memory_bandwidth(pool, topology);
  return {.device = "cpu",
          .devices = 1,
          .bytes_per_second = memory.bytes_per_second,
          .from_table = false,
          .origin = fmt::format("measured now with {} threads{}", memory.threads,
                                memory.larger_than_caches ? "" : ", perhaps from caches")};
}

void take(InspectReport& report, const Checkpoint& files, const QuantizationConfig* declared,
          std::int64_t context) {
  report.name = files.name();
  report.weights = files.bytes();
  for (const checkpoint::Fault& fault : files.faults()) report.faults.push_back(fault.message);
  for (const std::string& note : files.notes()) report.notes.push_back(note);
  report.census =
      qwen::take_census(report.config, files, declared, context > 0 ? context : report.config.positions);
  for (const std::string& fault : report.census.faults) report.faults.push_back(fault);
  for (const std::string& note : report.census.notes) report.notes.push_back(note);
}

void take_folder(InspectReport& report, const std::filesystem::path& folder, std::int64_t context) {
  const std::filesystem::path config_file = folder / "config.json";
  // An architecture that is not ours is the first thing to say, whatever else the folder lacks.
  if (std::filesystem::exists(config_file)) qwen::read_config(checkpoint::read_config_file(config_file));
  const Checkpoint files = Checkpoint::open_for_inspection(folder);
  const ConfigValue config = checkpoint::read_config_file(config_file);
  report.config = qwen::read_config(config);

  // What configs declare of formats only confirms, so trouble with it does not keep the report from being
  // made.
  std::optional<QuantizationConfig> declared;
  try {
    std::optional<ConfigValue> other;
    const std::filesystem::path other_file = folder / "hf_quant_config.json";
    if (std::filesystem::exists(other_file)) other = checkpoint::read_config_file(other_file);
    declared = QuantizationConfig::read(config, other);
  } catch (const Error& error) {
    report.faults.emplace_back(error.what());
  }
  take(report, files, declared ? &*declared : nullptr, context);
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  ensure(options.context >= 0 && options.context <= kLongestContext, ErrorKind::BadInput,
         "--context {}: expected a number of tokens from 0 to {}", options.context, kLongestContext);
  InspectReport report;
  report.context = options.context;
  if (options.gpu) report.bandwidth = gpu_bandwidth(*options.gpu);
  if (options.model.starts_with(qwen::kSyntheticPrefix)) {
    qwen::Synthetic synthetic = qwen::make_synthetic(options.model);
    report.config = std::move(synthetic.config);
    take(report, synthetic.files, nullptr, options.context);
  } else {
    take_folder(report, options.model, options.context);
  }
  if (!options.gpu) report.bandwidth = measured_bandwidth();

  if (options.why && report.faults.empty()) report.why = candidates_of(options.model);

  const std::string text = options.json ? to_json(report) : to_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() looks at the stream's state
  return report.faults.empty() ? 0 : exit_code_of(ErrorKind::BadCheckpoint);
}

}  // namespace redline::cli
