// Times prompts, then decode steps, then both once more with the operators' own clock on. Random tokens: what
// a model says does not change its speed (but for experts, which random tokens spread evenly).
#include "cli/bench.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "cli/bench_report.hpp"
#include "core/compute_peak.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "core/memory_bandwidth.hpp"
#include "core/philox.hpp"
#include "core/topology.hpp"
#include "core/units.hpp"
#include "device/cpu/cpu_device.hpp"
#include "runtime/generate.hpp"

namespace redline::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRepetitions = 3;  // of a prompt
constexpr std::int64_t kWarmSteps = 4;
constexpr std::int64_t kProfileSteps = 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random_bits(seed, static_cast<std::uint64_t>(i), 0) %
                                               static_cast<std::uint64_t>(vocabulary)));
  }
  return tokens;
}

// "synthetic:NAME@PRECISION" apart; a folder's precision is what its largest group is stored in.
std::pair<std::string, std::string> split_name(const std::string& model,
                                               const model::qwen3_5::Census& census) {
  if (model.starts_with("synthetic:")) {
    const std::size_t at = model.find('@');
    return {model.substr(0, at), at == std::string::npos ? "bf16" : model.substr(at + 1)};
  }
  const auto largest = std::max_element(census.groups.begin(), census.groups.end(),
                                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return {model, largest == census.groups.end() ? "" : largest->format};
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {
    const std::int64_t longest =
        std::max(options.context + options.steps + kWarmSteps + 16,
                 *std::max_element(options.prompts.begin(), options.prompts.end()) + 1);
    ModelOptions model = options.model;
    if (model.max_model_len == 0) model.max_model_len = longest;
    ensure(model.max_model_len >= longest, ErrorKind::BadInput, "--max-model-len {}: this bench needs {}",
           model.max_model_len, longest);
    local_ = load_local(model);
    auto& cpu = static_cast<CpuDevice&>(*local_->device);
    report_.bandwidth = measure_memory_bandwidth(cpu.threads(), read_topology()).bytes_per_second;
    const ComputePeak peak = measure_compute_peak(cpu.threads());
    report_.compute_peak = peak.flops;
    report_.compute_instructions = peak.instructions;
    report_.threads = cpu.threads().size();
    report_.device = "cpu";
    report_.device_name = cpu.info().name;
    report_.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
    std::tie(report_.model, report_.precision) = split_name(options.model.model, local_->loaded.census);
  }

  BenchReport run() {
    for (const std::int64_t tokens : options_.prompts) prefill(tokens);
    decode();
    profile();
    return std::move(report_);
  }

 private:
  const model::ModelInfo& info() const { return local_->loaded.model->info(); }
  runtime::Session& session() { return *local_->session; }

  void prefill(std::int64_t count) {
    std::vector<double> seconds;
    for (int repetition = 0; repetition <= kRepetitions; ++repetition) {
      const std::vector<std::int32_t> tokens =
          random_tokens(count, info().vocabulary, static_cast<std::uint64_t>(repetition) + 1);
      session().reset();
      const Clock::time_point start = Clock::now();
      const TensorView logits = session().run(tokens);
      if (repetition > 0)
        seconds.push_back(seconds_since(start));  // the first one touches memory for the first time
      const auto* values = static_cast<const float*>(logits.data);
      ensure(std::all_of(values, values + logits.shape[1], [](float value) { return std::isfinite(value); }),
             ErrorKind::Internal, "the logits of a prompt are not finite: this is no measurement");
      log::info("prompt of {} tokens: {}", count, units::duration(seconds_since(start)));
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    report_.prefill.push_back({.tokens = count,
                               .tokens_per_s = static_cast<double>(count) / median,
                               .ttft_ms = median * 1e3,
                               .spread = (seconds.back() - seconds.front()) / median,
                               .flops_share = prompt_flops(count) / median / report_.compute_peak});
  }

  // Matrix products: two operations for each active parameter and token (the head's only for the last one).
  // Attention and the delta rule are left out, so the share is a lower bound.
  double prompt_flops(std::int64_t tokens) const {
    double flops = 0;
    for (const auto& group : local_->loaded.census.groups) {
      const bool head = group.group == model::qwen3_5::Group::Head;
      flops +=
          2.0 * static_cast<double>(group.active_parameters) * (head ? 1.0 : static_cast<double>(tokens));
    }
    return flops;
  }

  runtime::Request request(std::int64_t tokens) const {
    runtime::Request request;
    request.prompt = random_tokens(options_.context, info().vocabulary, 7);
    request.sampling.temperature = 0;
    request.max_tokens = tokens;
    request.drafts = options_.drafts;
    return request;
  }

  void decode() {
    session().reset();
    std::vector<double> gaps;
    Clock::time_point previous, begin;
    std::int64_t count = 0;
    const std::int64_t total = options_.steps + kWarmSteps + 1;
    const runtime::Answer answer = runtime::generate(session(), request(total), [&](std::int32_t) {
      const Clock::time_point now = Clock::now();
      if (count == kWarmSteps) begin = now;
      if (count > kWarmSteps) gaps.push_back(std::chrono::duration<double>(now - previous).count());
      previous = now;
      ++count;
      return true;
    });
    const double seconds = std::chrono::duration<double>(previous - begin).count();
    const auto tokens = static_cast<double>(count - kWarmSteps - 1);
    std::sort(gaps.begin(), gaps.end());
    DecodeRow row{.context = options_.context, .drafts = options_.drafts, .steps = answer.steps};
    row.tokens_per_s = tokens / seconds;
    row.emitted_per_step = static_cast<double>(answer.tokens.size() - 1) / static_cast<double>(answer.steps);
    row.step_us = seconds / tokens * row.emitted_per_step * 1e6;
    row.step_us_p99 = gaps[std::min(gaps.size() - 1, gaps.size() * 99 / 100)] * 1e6;
    const auto& per_token = local_->loaded.census.per_token;
    const std::int64_t middle = options_.context + total / 2;
    row.bytes_per_step = per_token.weight_bytes + per_token.state_bytes +
                         per_token.kv_bytes_per_context_token * middle +
                         options_.drafts * per_token.draft_bytes;
    row.ceiling_tokens_per_s =
        report_.bandwidth / static_cast<double>(row.bytes_per_step) * row.emitted_per_step;
    row.share = row.tokens_per_s / row.ceiling_tokens_per_s;
    report_.decode.push_back(row);
  }

  void profile() {
    ops::Profile prompt, steps;
    session().reset();
    session().profile = &prompt;
    session().run(random_tokens(options_.prompts.front(), info().vocabulary, 11));
    session().profile = nullptr;
    report_.prefill_profile = rows_of(prompt, 1);
    session().reset();
    session().run(random_tokens(options_.context, info().vocabulary, 12));
    session().profile = &steps;
    for (std::int64_t i = 0; i < kProfileSteps; ++i)
      session().run(random_tokens(1, info().vocabulary, static_cast<std::uint64_t>(i) + 20));
    session().profile = nullptr;
    report_.decode_profile = rows_of(steps, kProfileSteps);
  }

  std::vector<OperatorRow> rows_of(const ops::Profile& profile, double times) const {
    std::vector<OperatorRow> rows;
    for (const auto& [key, found] : profile.rows) {
      const double bytes = static_cast<double>(found.bytes) / times;
      rows.push_back({.operation = key.first,
                      .candidate = key.second,
                      .calls = static_cast<double>(found.calls) / times,
                      .us = found.seconds / times * 1e6,
                      .bytes = bytes,
                      .share = found.seconds > 0 ? bytes * times / found.seconds / report_.bandwidth : 0});
    }
    std::sort(rows.begin(), rows.end(),
              [](const OperatorRow& a, const OperatorRow& b) { return a.us > b.us; });
    return rows;
  }

  BenchOptions options_;
  std::unique_ptr<LocalModel> local_;
  BenchReport report_;
};

}  // namespace

int run_bench(const BenchOptions& options) {
  ensure(options.context >= 1, ErrorKind::BadInput, "--context {}: expected at least 1", options.context);
  ensure(options.steps >= 10, ErrorKind::BadInput, "--steps {}: expected at least 10, fewer tell nothing",
         options.steps);
  ensure(!options.prompts.empty(), ErrorKind::BadInput, "--prompt-tokens: expected at least one length");
  for (const std::int64_t tokens : options.prompts)
    ensure(tokens >= 2, ErrorKind::BadInput, "--prompt-tokens {}: expected at least 2", tokens);
  const BenchReport report = Bench(options).run();
  fmt::print("{}", options.json ? to_json(report) : to_text(report));
  return 0;
}

}  // namespace redline::cli
