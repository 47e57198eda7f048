// What a Checkpoint holds, and the reading of a folder into it: headers parsed, names settled, index and
// shards held against each other. Only checkpoint.cpp uses this.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"
#include "core/file_map.hpp"

namespace redline::checkpoint {

// Texts that stay where they are, for views. One allocation per few hundred names: a checkpoint has hundreds
// of thousands.
class Texts {
 public:
  std::string_view keep(std::string_view head, std::string_view tail);
  void adopt(std::unique_ptr<char[]> block) {
    adopted_.push_back(std::move(block));
  }  // views into it stay valid

 private:
  std::deque<std::string> blocks_;
  std::vector<std::unique_ptr<char[]>> adopted_;
};

struct Contents {
  std::string name;
  Bytes bytes = Bytes::Here;
  std::vector<std::filesystem::path> files;
  std::vector<FileMap> maps;  // beside `files`; empty where a file is missing or cannot be opened
  Texts texts;
  std::vector<Tensor> tensors;  // sorted by name, no name twice
  std::vector<Fault> faults;
  std::vector<ErrorKind> fault_kinds;  // beside `faults`
  std::vector<std::string> notes;
};

Contents read_folder(const std::filesystem::path& folder);

}  // namespace redline::checkpoint
