// A checkpoint into a folder of new shards: some weights encoded into another format, everything else copied
// as it is. What becomes of which tensor, and under which name, is the caller's list. The source is read
// through its memory map, weight by weight and in pieces, so that memory does not grow with the model.
//
// A run that was interrupted goes on where it stopped. Each shard gets its name when it is complete, and a
// journal in the folder says for which source and which choices it was written; a later run with the same
// ones keeps it. The result is the same byte for byte as without an interruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "core/threads.hpp"
#include "quant/encode_weight.hpp"
#include "quant/scheme.hpp"

namespace redline::checkpoint {

inline constexpr const char* kJournalFile = "redline-quantize.journal";

// Either a tensor that is kept, or a weight that is encoded. Units are written in the given order; a unit is
// never divided between shards.
struct RewriteUnit {
  const Tensor* kept = nullptr;  // copied under the name it has on disk

  std::string module;  // name on disk without ".weight"
  std::string label;   // what errors are added up by, one word: the group
  quant::Format format = quant::Format::Bf16;
  const Tensor* source = nullptr;  // BF16
  std::uint64_t first_byte = 0;    // of the weight, within the source
  std::int64_t rows = 0, columns = 0;
  int shared_scale = -1;  // units with the same number, not negative, get the same scalar of the whole tensor
};

// What is written of a unit.
std::vector<Checkpoint::Declared> tensors_of(const RewriteUnit& unit);

struct RewriteOptions {
  std::filesystem::path folder;          // is made if it is not there
  std::uint64_t most_shard_bytes = 0;    // 0: one file
  std::vector<std::string> choices;      // lines for the journal: what else decides the result
  std::vector<std::string> other_files;  // names that the caller will write into the folder, or has written
};

struct RewriteError {
  std::string label;
  quant::Format format;
  quant::EncodingError sums;
};

class Rewrite {
 public:
  // Throws BadInput where the source has no bytes, where the folder holds anything that is not of such a run,
  // or where another process is writing there; Io where there is too little room. Nothing is written yet.
  Rewrite(const Checkpoint& from, std::vector<RewriteUnit> units, RewriteOptions options);
  ~Rewrite();
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  std::uint64_t source_bytes() const;       // read for all shards
  std::uint64_t kept_source_bytes() const;  // of these, for shards that an earlier run has finished
  std::uint64_t output_bytes() const;       // tensors of all shards
  std::size_t shards() const;
  std::size_t kept_shards() const;

  // Writes what is missing, then the index. `report` is told on this thread how many source bytes are done.
  void run(ThreadPool& pool, const std::function<void(std::uint64_t)>& report);

  // By label and format, in the order of the units; of all shards, those of earlier runs too.
  std::vector<RewriteError> errors() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Io, with what is needed and what is there, where the file system of `folder` has no room for `bytes` more.
void ensure_room(const std::filesystem::path& folder, std::uint64_t bytes);

}  // namespace redline::checkpoint
