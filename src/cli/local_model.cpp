// Device, choices, weights, session; one line on stderr about what was loaded.
#include "cli/local_model.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>

#include "core/error.hpp"
#include "core/log.hpp"
#include "core/units.hpp"
#include "device/cpu/cpu_device.hpp"
#include "model/generation_defaults.hpp"

namespace redline::cli {
namespace {

std::pair<std::string, std::string> read_choice(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  ensure(equals != std::string::npos && equals > 0 && equals + 1 < text.size(), ErrorKind::BadInput,
         "{} '{}': expected OPERATOR=CANDIDATE, as in matmul=cpu/any/loops", option, text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

ops::ChoiceTable read_choices(const ModelOptions& options) {
  ops::ChoiceTable choices;
  for (const std::string& text : options.force) {
    const auto [operation, candidate] = read_choice("--force", text);
    choices.force(operation, candidate);
  }
  for (const std::string& text : options.ban) {
    const auto [operation, candidate] = read_choice("--ban", text);
    choices.ban(operation, candidate);
  }
  return choices;
}

std::unique_ptr<LocalModel> load_local(const ModelOptions& options, std::int64_t chunk_rows) {
  ensure(options.device == "cpu", ErrorKind::Unsupported,
         "--device {}: this build runs models on the CPU only; use --device cpu", options.device);
  auto local = std::make_unique<LocalModel>();
  local->device = std::make_unique<CpuDevice>();
  local->choices = read_choices(options);
  const auto start = std::chrono::steady_clock::now();
  local->loaded = model::load(options.model, *local->device, local->choices);
  const model::ModelInfo& info = local->loaded.model->info();

  ensure(options.max_model_len <= info.positions, ErrorKind::BadInput,
         "--max-model-len {}: {} was trained for {} positions", options.max_model_len, info.name,
         info.positions);
  runtime::Session::Options session;
  session.most_tokens =
      options.max_model_len > 0 ? options.max_model_len : std::min(info.positions, kDefaultContext);
  if (chunk_rows > 0) session.chunk_rows = chunk_rows;
  local->session =
      std::make_unique<runtime::Session>(*local->loaded.model, *local->device, local->choices, session);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  log::info("{}: {} layers, {} weights per token, context {}, ready in {}", info.name, info.layers,
            units::decimal_bytes(static_cast<std::uint64_t>(local->loaded.census.per_token.weight_bytes)),
            session.most_tokens, units::duration(took.count()));
  return local;
}

runtime::Request read_sampling(const SamplingOptions& options, const std::string& folder) {
  const model::GenerationDefaults defaults = model::read_generation_defaults(folder);
  runtime::Request request;
  runtime::Sampling& sampling = request.sampling;
  sampling.temperature = defaults.sample == false ? 0 : defaults.temperature.value_or(1);
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.top_p = options.top_p.value_or(defaults.top_p.value_or(1));
  sampling.min_p = options.min_p.value_or(defaults.min_p.value_or(0));
  sampling.top_k = options.top_k.value_or(defaults.top_k.value_or(0));
  sampling.repetition_penalty = defaults.repetition_penalty.value_or(1);
  std::random_device entropy;
  sampling.seed = options.seed.value_or((std::uint64_t{entropy()} << 32) | entropy());
  request.stop_ids = defaults.end_of_answer;
  request.max_tokens = options.max_tokens;
  request.drafts = options.drafts;
  return request;
}

}  // namespace redline::cli
