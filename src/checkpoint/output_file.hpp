// A file that appears whole or not at all, and the two texts that safetensors output is made of: a file's
// header and the index of several files. Writers of checkpoints share these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace redline::checkpoint {

// Written under another name in the target's folder and renamed at the end; deleted if it is given up. All
// functions throw Io, naming the target and the system's reason.
class OutputFile {
 public:
  enum class Name : std::uint8_t {
    Random,  // two writers of one target do not meet
    Part,    // "target.part": what a killed program left behind is written over by the next
  };
  explicit OutputFile(const std::filesystem::path& target, Name name = Name::Random);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);  // after what was written so
  void write(std::string_view text);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  void complete();  // on disk, closed, and readable as other files are; still under its other name
  void rename();    // to the target's name
  const std::filesystem::path& target() const { return target_; }

 private:
  std::filesystem::path target_;
  std::string path_;
  int descriptor_ = -1;
};

// Writes, completes and renames.
void write_whole_file(const std::filesystem::path& target, std::string_view text);

// The names in a folder reach the disk.
void flush_folder(const std::filesystem::path& folder);

std::uint64_t bytes_of(const Checkpoint::Declared& tensor);

// "model.safetensors", or "model-00002-of-00007.safetensors" for number 1 of 7.
std::string shard_name(std::size_t number, std::size_t count);

// Eight bytes of length and the JSON header, padded so that the first tensor starts at a multiple of 8. The
// tensors lie in this order.
std::string safetensors_header(std::span<const Checkpoint::Declared> tensors,
                               std::span<const std::pair<std::string, std::string>> metadata);

// model.safetensors.index.json: in which file each tensor lies. `total` is their bytes.
struct IndexLine {
  std::string_view tensor, file;
};
std::string index_text(std::span<const IndexLine> lines, std::uint64_t total);

}  // namespace redline::checkpoint
