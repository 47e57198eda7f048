// A checkpoint as named tensors. Files on disk and synthetic models look the same from here: names, shapes,
// dtypes, and bytes if they are there. Host only; nothing is uploaded, and no weight byte is read until
// view() is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"

namespace redline::checkpoint {

// Why a checkpoint's bytes can or cannot be read. Only names, shapes and dtypes are needed for `inspect`.
enum class Bytes : std::uint8_t {
  Here,       // every shard is complete
  NotHere,    // shards end exactly after their headers: shapes are known, weights are not
  NamesOnly,  // an index without shards: names are known, nothing else
  Synthetic,  // no files at all; weights are made at load
};

struct Tensor {
  std::string_view
      name;  // internal name space (names.hpp): "model.layers.3.mlp.gate.weight", "mtp.fc.weight"
  std::string_view name_on_disk;  // as the file spells it, for messages
  DType dtype = DType::BF16;      // of the stored elements; NVFP4 codes are U8
  Shape shape;                    // as stored. NamesOnly: no dimensions, and has_shape is false
  bool has_shape = true;
  int file = -1;             // index into files(); -1 for synthetic tensors
  std::uint64_t offset = 0;  // first byte within that file
  std::uint64_t bytes = 0;
};

// One thing that is wrong with the files, as `inspect` lists it; loading throws the first one.
struct Fault {
  std::string file;
  std::string message;  // "model-00002-of-00004.safetensors: tensor \"…\": expected …, found …"
};

class Checkpoint {
 public:
  // Opens a folder: config.json, and model.safetensors, or shards with or without
  // model.safetensors.index.json. Throws Error (BadInput: no folder, no config.json; BadCheckpoint: any
  // fault) naming file, tensor, declared and real size.
  static Checkpoint open(const std::filesystem::path& folder);
  // The same, but what is wrong with the tensor files is listed in faults() and reading goes on as far as it
  // can.
  static Checkpoint open_for_inspection(const std::filesystem::path& folder);
  // No files: `tensors` are the whole truth. Names must already be internal ones.
  struct Declared {
    std::string name;
    DType dtype = DType::BF16;
    Shape shape;
  };
  static Checkpoint synthetic(std::string name, std::vector<Declared> tensors);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::string& name() const;  // the folder's last component, or "synthetic:…"
  Bytes bytes() const;
  std::span<const std::filesystem::path> files() const;
  std::span<const Tensor> tensors() const;  // sorted by internal name
  const Tensor* find(std::string_view internal_name) const;
  std::span<const Fault> faults() const;
  std::span<const std::string> notes()
      const;  // oddities that are not faults, one line each (equal duplicates …)

  // The bytes of a tensor, straight from the memory map. Error if bytes() is not Here.
  TensorView view(const Tensor& tensor) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace redline::checkpoint
