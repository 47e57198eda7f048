// What a rewrite has finished, as a small text file beside the shards: first the lines that say what it is a
// rewrite of, then for each finished shard its size and its sums. Written whole after every shard, in the
// order of the shards, so that it does not show how often a run was interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/rewrite.hpp"

namespace redline::checkpoint {

struct FinishedShard {
  std::uint64_t file_bytes = 0;
  std::vector<RewriteError> errors;
};

class RewriteJournal {
 public:
  // Reads the folder's journal if there is one. Throws BadInput where it tells of another source or of other
  // choices than `head`, naming the first line that differs. Records that make no sense are left out.
  RewriteJournal(std::filesystem::path folder, std::vector<std::string> head);

  bool found() const { return found_; }
  const FinishedShard* find(const std::string& file) const;
  void forget(const std::string& file) { shards_.erase(file); }
  void add(const std::string& file, FinishedShard shard);  // and writes the journal
  void write() const;

 private:
  void read_shards(const std::vector<std::string>& lines, std::size_t at);

  std::filesystem::path folder_;
  std::vector<std::string> head_;
  bool found_ = false;
  std::map<std::string, FinishedShard> shards_;  // names sort as numbers do
};

}  // namespace redline::checkpoint
