// What a checkpoint amounts to: parameters and bytes of each group, the bytes that one decoded token needs,
// the draft head, the caches. The formulas are those of docs/formats.md, "What is counted"; `inspect` prints
// the result, the memory plan starts from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/quantization_config.hpp"
#include "model/qwen3_5/config.hpp"
#include "model/qwen3_5/weights.hpp"

namespace redline::model::qwen3_5 {

struct GroupCensus {
  Group group;
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;  // all that is stored, scales of every kind too
  std::int64_t active_parameters =
      0;  // what one token multiplies with; 0 for embedding (one row), MTP, vision
  std::int64_t token_bytes =
      0;               // what one token reads of them; scales of activations and caches are not read
  std::string format;  // "NVFP4", "FP8 per channel + NVFP4": the one with most bytes first
  std::optional<bool> config_agrees{};  // nullopt: there is no config, or it is not understood
};

enum class MtpState : std::uint8_t { Present, Absent, Incomplete };
struct MtpCensus {
  MtpState state = MtpState::Absent;
  std::int64_t tensors_found = 0, tensors_expected = 0;
  std::optional<std::string> dtype;  // format of its layer
};

struct KvCensus {
  std::int64_t scales_found = 0, scales_expected = 0;
  bool fp8 = false;
  std::string reason;
};

struct PerToken {
  std::int64_t weight_bytes = 0;
  std::int64_t state_bytes = 0;  // recurrent state of one sequence, read and written
  std::int64_t kv_bytes_per_context_token = 0;
  std::int64_t draft_bytes = 0;  // one draft step, with the head; 0 unless MTP is complete
  std::int64_t draft_bytes_without_head = 0;
};

struct MemoryRow {
  std::string what;
  std::int64_t bytes = 0;
};

struct Census {
  std::vector<GroupCensus> groups;  // those that the model has
  MtpCensus mtp;
  KvCensus kv;
  PerToken per_token;
  std::vector<MemoryRow> memory;  // of one sequence of `context` tokens
  std::vector<std::string> faults, notes;
};

// `declared` is null for a checkpoint without a config. Nothing is thrown for what is wrong with the tensors:
// it is in `faults`.
Census take_census(const Config& config, const checkpoint::Checkpoint& files,
                   const checkpoint::QuantizationConfig* declared, std::int64_t context);

}  // namespace redline::model::qwen3_5
