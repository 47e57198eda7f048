// Plans, rewrites, copies what belongs to a checkpoint beside its weights, prints. config.json comes last:
// until then nobody can take the folder for a checkpoint.
#include "cli/quantize.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/config_reader.hpp"
#include "checkpoint/output_file.hpp"
#include "checkpoint/rewrite.hpp"
#include "checkpoint/weight_files.hpp"
#include "cli/progress.hpp"
#include "cli/quantize_config.hpp"
#include "cli/quantize_report.hpp"
#include "core/error.hpp"
#include "core/threads.hpp"
#include "core/topology.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/precision.hpp"
#include "model/qwen3_5/quantize_plan.hpp"
#include "model/qwen3_5/sizes.hpp"

namespace redline::cli {
namespace {

namespace fs = std::filesystem;
namespace qwen = model::qwen3_5;

constexpr const char* kConfig = "config.json";
constexpr const char* kToolConfig = "hf_quant_config.json";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ensure(!file.bad() && file.is_open(), ErrorKind::Io, "{}: cannot be read", path.string());
  return text;
}

// Tokenizer, templates, generation and preprocessor settings, licence. A model card would describe other
// files.
std::vector<std::string> companions(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    const bool about_weights = name == kConfig || name == kToolConfig || name.ends_with(".index.json");
    const bool wanted = extension == ".json" || extension == ".jinja" || extension == ".txt" ||
                        extension == ".model" || name.starts_with("LICENSE");
    if (entry.is_regular_file() && wanted && !about_weights) names.push_back(name);
  }
  return names;
}

}  // namespace

int run_quantize(const QuantizeOptions& options) {
  ensure(!options.model.starts_with(qwen::kSyntheticPrefix), ErrorKind::BadInput,
         "{}: has no files to quantise; {}@{} is its quantised form", options.model,
         options.model.substr(0, options.model.find('@')), options.to);
  const qwen::Precision precision = qwen::precision_of(options.to);
  const fs::path source = options.model, output = options.output;

  const checkpoint::Checkpoint files = checkpoint::Checkpoint::open(source);
  const qwen::Config config = qwen::read_config(checkpoint::read_config_file(source / kConfig));
  const qwen::QuantizePlan plan = qwen::plan_quantization(config, files, precision);
  const QuantizedConfigs configs =
      quantized_configs(read_text(source / kConfig), (source / kConfig).string(), plan, precision);

  const std::vector<std::string> copied = companions(source);
  std::vector<std::string> others = copied;
  others.emplace_back(kConfig);
  if (configs.hf_quant_config) others.emplace_back(kToolConfig);
  checkpoint::Rewrite rewrite(files, plan.units,
                              {.folder = output,
                               .most_shard_bytes = options.shard_bytes,
                               .choices = {fmt::format("to {}", options.to)},
                               .other_files = others});
  QuantizeReport report = {.model = options.model,
                           .to = options.to,
                           .output = options.output,
                           .source_bytes = rewrite.source_bytes(),
                           .output_bytes = rewrite.output_bytes(),
                           .shards = rewrite.shards(),
                           .kept_shards = rewrite.kept_shards(),
                           .fresh_bytes = rewrite.source_bytes() - rewrite.kept_source_bytes()};
  {
    ThreadPool pool(read_topology().usable_threads());
    Progress progress("quantize", rewrite.source_bytes(), rewrite.kept_source_bytes());
    rewrite.run(pool, [&](std::uint64_t done) { progress.report(done); });
    report.seconds = progress.seconds();
  }
  for (const std::string& name : copied)
    checkpoint::write_whole_file(output / name, read_text(source / name));
  if (configs.hf_quant_config) checkpoint::write_whole_file(output / kToolConfig, *configs.hf_quant_config);
  checkpoint::write_whole_file(output / kConfig, configs.config);
  checkpoint::flush_folder(output);

  report.errors = rewrite.errors();
  const std::string text = options.json ? to_json(report) : to_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() looks at the stream's state
  return 0;
}

}  // namespace redline::cli
