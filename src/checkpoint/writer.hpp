// safetensors out, for `quantize` and for test models. What will be written is declared up front, so that
// headers come first and the bytes stream through in one pass. Everything goes to temporary files beside the
// targets and gets its name in finish(), the index last: readers see the old checkpoint or the new one, and a
// writer that is given up leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.hpp"

namespace redline::checkpoint {

class Writer {
 public:
  struct Options {
    std::vector<std::pair<std::string, std::string>> metadata;  // into every file's header
    // Tensors go to the next shard where they would take the shard's tensors past this; a larger tensor has a
    // shard of its own. 0: one file. One shard is called model.safetensors and has no index.
    std::uint64_t most_shard_bytes = 0;
  };

  // Names as they shall stand on disk. Tensors lie in this order, without padding, as the format asks: put
  // wide types first if readers shall find them aligned. Throws Internal for names that are there twice or
  // are not valid, and for F4E2M1, whose codes are U8 on disk; BadInput where the folder holds other weights;
  // Io where files cannot be made.
  Writer(const std::filesystem::path& folder, std::vector<Checkpoint::Declared> tensors, Options options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // The next bytes of a tensor. Tensors come in the declared order, each in as many pieces as the caller
  // likes; tensors without bytes may be left out.
  void write(std::string_view name, std::span<const std::byte> bytes);

  // After the last byte: flushes to disk and gives the files their names. Returns them, the index last.
  std::vector<std::filesystem::path> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redline::checkpoint
