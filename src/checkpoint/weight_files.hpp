// Which files of a folder are its weights: one model.safetensors, the shards that an index names, or shards
// that name each other ("…-00002-of-00004.safetensors"). Looks at names only and opens nothing but the index.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors.hpp"

namespace redline::checkpoint {

inline constexpr const char* kIndexFile = "model.safetensors.index.json";

struct WeightFiles {
  std::vector<std::string> present;  // file names in the order of their names; each is there
  std::vector<std::string> missing;  // named by the index or by their siblings, and not there
  bool has_index = false;            // the files come from the index, and `index` says what should be in each
  std::vector<IndexEntry> index;
  std::vector<Fault> faults;
  std::vector<std::string> notes;
};

// Throws BadInput where there is no folder, no config.json, or no sign of safetensors files; the message says
// what is there instead.
WeightFiles find_weight_files(const std::filesystem::path& folder);

}  // namespace redline::checkpoint
