// The fields of config.json that the family needs, checked once: whoever holds a Config may trust its
// numbers. Nested (`text_config`) and flat files, `rope_parameters` and `rope_scaling`, the spellings
// of 3.5, 3.6 and 3.8.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/config_reader.hpp"

namespace redline::model::qwen3_5 {

enum class Mixer : std::uint8_t { DeltaNet, Attention };

struct Rope {
  double theta = 10'000'000;
  std::int64_t dimensions = 64;                      // of each head, from its first element on; even
  std::array<std::int64_t, 3> sections{11, 11, 10};  // frequencies that follow time, height, width
  bool yarn = false;
  double yarn_factor = 1;
  std::int64_t yarn_original_positions = 0;
};

struct Moe {
  std::int64_t experts = 0, chosen = 0;
  std::int64_t expert_width = 0, shared_width = 0;
};

// Known so that its tensors can be told apart and counted; the text engine does not use it.
struct Vision {
  std::int64_t depth = 0, hidden = 0, width = 0, positions = 0, output = 0;
  std::int64_t channels = 3, patch = 16, temporal_patch = 2, merge = 2;
};

struct Config {
  std::string architecture;  // "qwen3_5", "qwen3_5_moe"
  std::int64_t layers = 0, hidden = 0, vocabulary = 0, positions = 0;
  std::vector<Mixer> mixers;  // [layers]

  std::int64_t query_heads = 0, kv_heads = 0, head_dim = 0;
  Rope rope;

  std::int64_t key_heads = 0, value_heads = 0, key_head_dim = 0, value_head_dim = 0, conv_taps = 0;

  std::int64_t dense_width = 0;  // 0 where the feed-forward blocks are mixtures of experts
  std::optional<Moe> moe;

  bool tied_head = false;  // the embedding is also the head, unless the files hold a head of its own
  std::int64_t mtp_layers = 0;
  double norm_epsilon = 1e-6;
  std::optional<Vision> vision;

  std::int64_t attention_layers() const;
  std::int64_t delta_layers() const { return layers - attention_layers(); }
  std::int64_t conv_channels() const { return 2 * key_heads * key_head_dim + value_heads * value_head_dim; }
  std::int64_t value_width() const { return value_heads * value_head_dim; }
};

// BadInput: an architecture that is not known, with those that are. Unsupported: a variant of the family that
// no published checkpoint uses. BadCheckpoint: a field that is missing, of a wrong type or out of its limits,
// with its path.
Config read_config(const checkpoint::ConfigValue& root);

// BadCheckpoint where the numbers cannot belong together. read_config calls it; so does whoever makes a
// Config by hand.
void check(const Config& config, const std::string& source);

}  // namespace redline::model::qwen3_5
