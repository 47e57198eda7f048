// Plans the shards, writes each header when its first byte is due, renames at the end.
#include "checkpoint/writer.hpp"

#include <simdjson.h>

#include <system_error>
#include <unordered_set>

#include "checkpoint/output_file.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/weight_files.hpp"
#include "core/error.hpp"
#include "core/printable.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

struct Shard {
  std::size_t begin = 0, end = 0;  // tensors
  std::string file;
};

std::vector<Shard> plan(std::span<const Checkpoint::Declared> tensors, std::uint64_t most_bytes) {
  std::vector<Shard> shards{{}};
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t more = bytes_of(tensors[i]);
    if (most_bytes > 0 && i > shards.back().begin && bytes + more > most_bytes) {
      shards.push_back({.begin = i});
      bytes = 0;
    }
    bytes += more;
    shards.back().end = i + 1;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file = shard_name(i, shards.size());
  }
  return shards;
}

// Weights of another checkpoint in the same folder would be read with these or instead of them.
void refuse_strangers(const fs::path& folder, std::span<const Shard> shards) {
  std::unordered_set<std::string_view> ours;
  for (const Shard& shard : shards) ours.insert(shard.file);
  if (shards.size() > 1) ours.insert(kIndexFile);
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_weights = name.ends_with(".safetensors") || name == kIndexFile;
    ensure(!is_weights || ours.contains(name), ErrorKind::BadInput,
           "{}: holds {}, which belongs to other weights: write into an empty folder", folder.string(), name);
  }
  ensure(!error, ErrorKind::Io, "{}: cannot be listed: {}", folder.string(), error.message());
}

}  // namespace

struct Writer::Impl {
  fs::path folder;
  std::vector<Checkpoint::Declared> tensors;
  Options options;
  std::vector<Shard> shards;
  std::vector<std::unique_ptr<OutputFile>> files;  // those begun so far
  std::size_t tensor = 0;                          // being written
  std::uint64_t written = 0;                       // bytes of it

  // Starts the shard that the tensor belongs to, if it is not started.
  void begin_shards_up_to(std::size_t number) {
    while (files.size() < shards.size() && shards[files.size()].begin <= number) {
      if (!files.empty()) files.back()->complete();
      const Shard& shard = shards[files.size()];
      files.push_back(std::make_unique<OutputFile>(folder / shard.file));
      files.back()->write(safetensors_header(std::span(tensors).subspan(shard.begin, shard.end - shard.begin),
                                             options.metadata));
    }
  }

  void skip_complete() {
    while (tensor < tensors.size() && written == bytes_of(tensors[tensor])) {
      ++tensor;
      written = 0;
    }
  }

  std::string index() const {
    std::uint64_t total = 0;
    std::vector<IndexLine> lines;
    for (const Shard& shard : shards) {
      for (std::size_t i = shard.begin; i < shard.end; ++i) {
        total += bytes_of(tensors[i]);
        lines.push_back({tensors[i].name, shard.file});
      }
    }
    return index_text(lines, total);
  }
};

Writer::Writer(const fs::path& folder, std::vector<Checkpoint::Declared> tensors, Options options)
    : impl_(std::make_unique<Impl>()) {
  std::unordered_set<std::string_view> names;
  const auto is_text = [](std::string_view text) {
    return simdjson::validate_utf8(text.data(), text.size());
  };
  for (const Checkpoint::Declared& tensor : tensors) {
    const bool valid = !tensor.name.empty() && tensor.name != "__metadata__" &&
                       tensor.name.find('\0') == std::string::npos && is_text(tensor.name);
    ensure(valid, "\"{}\" cannot be the name of a tensor", printable(tensor.name));
    ensure(names.insert(tensor.name).second, "tensor \"{}\" is to be written twice", tensor.name);
    ensure(tensor.dtype != DType::F4E2M1, "tensor \"{}\": four-bit codes are U8 on disk", tensor.name);
  }
  names.clear();
  for (const auto& [key, value] : options.metadata) {
    ensure(is_text(key) && is_text(value), "metadata \"{}\" is not UTF-8", printable(key));
    ensure(names.insert(key).second, "metadata \"{}\" is to be written twice", printable(key));
  }
  impl_->folder = folder;
  impl_->tensors = std::move(tensors);
  impl_->options = std::move(options);
  impl_->shards = plan(impl_->tensors, impl_->options.most_shard_bytes);
  refuse_strangers(folder, impl_->shards);
  impl_->begin_shards_up_to(0);
}

Writer::~Writer() = default;

void Writer::write(std::string_view name, std::span<const std::byte> bytes) {
  Impl& now = *impl_;
  if (bytes.empty()) return;
  now.skip_complete();
  ensure(now.tensor < now.tensors.size(), "tensor \"{}\": all declared tensors are written already", name);
  const Checkpoint::Declared& tensor = now.tensors[now.tensor];
  ensure(tensor.name == name, "tensor \"{}\" is written where \"{}\" is due, {} of its {} bytes being there",
         name, tensor.name, now.written, bytes_of(tensor));
  ensure(bytes.size() <= bytes_of(tensor) - now.written, "tensor \"{}\": {} bytes after {} of {}", name,
         bytes.size(), now.written, bytes_of(tensor));
  now.begin_shards_up_to(now.tensor);
  now.files.back()->write(bytes);
  now.written += bytes.size();
}

std::vector<fs::path> Writer::finish() {
  Impl& now = *impl_;
  now.skip_complete();
  ensure(now.tensor == now.tensors.size(), "tensor \"{}\": {} of {} bytes are written",
         now.tensor < now.tensors.size() ? now.tensors[now.tensor].name : "", now.written,
         now.tensor < now.tensors.size() ? bytes_of(now.tensors[now.tensor]) : 0);
  now.begin_shards_up_to(now.tensors.size());
  now.files.back()->complete();
  if (now.shards.size() > 1) {
    now.files.push_back(std::make_unique<OutputFile>(now.folder / kIndexFile));
    now.files.back()->write(now.index());
    now.files.back()->complete();
  }
  std::vector<fs::path> paths;
  for (const auto& file : now.files) {
    file->rename();
    paths.push_back(file->target());
  }
  flush_folder(now.folder);
  return paths;
}

}  // namespace redline::checkpoint
