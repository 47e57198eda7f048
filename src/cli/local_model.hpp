// A model and a session in this process, from the options that every command with a model of its own shares.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "model/load.hpp"
#include "ops/choice.hpp"
#include "runtime/request.hpp"
#include "runtime/session.hpp"

namespace redline::cli {

struct ModelOptions {
  std::string model;
  std::string device = "cpu";
  std::int64_t max_model_len = 0;       // 0: the model's own limit, at most kDefaultContext
  std::vector<std::string> force, ban;  // "OP=CANDIDATE"
};
inline constexpr std::int64_t kDefaultContext = 8192;

struct SamplingOptions {  // what is not given comes from generation_config.json
  std::optional<float> temperature, top_p, min_p;
  std::optional<std::int32_t> top_k;
  std::optional<std::uint64_t> seed;
  std::int64_t max_tokens = 0;  // 0: until the context is full
  int drafts = 0;
};

// In the order in which they depend on each other.
struct LocalModel {
  std::unique_ptr<Device> device;
  ops::ChoiceTable choices;
  model::LoadedModel loaded;
  std::unique_ptr<runtime::Session> session;
};

ops::ChoiceTable read_choices(const ModelOptions& options);  // BadInput for what is not OP=CANDIDATE
// `chunk_rows` of a prompt at once; 0: the session's default.
std::unique_ptr<LocalModel> load_local(const ModelOptions& options, std::int64_t chunk_rows = 0);

// The request's sampling fields, from the options and else from the checkpoint's generation_config.json; a
// seed is drawn where none is given.
runtime::Request read_sampling(const SamplingOptions& options, const std::string& folder);

}  // namespace redline::cli
