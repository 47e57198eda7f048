// Plans the shards, writes each header when its first byte is due, renames at the end.
#include "checkpoint/writer.hpp"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <unordered_set>

#include "checkpoint/safetensors.hpp"
#include "checkpoint/weight_files.hpp"
#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

std::uint64_t bytes_of(const Checkpoint::Declared& tensor) {
  return static_cast<std::uint64_t>(tensor.shape.elements() * bits_of(tensor.dtype)) / 8;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out += '"';
}

// A file under a made-up name in the target's folder, deleted unless it is kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target) : target_(target), path_(target.string() + ".XXXXXX") {
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    ensure(descriptor_ >= 0, ErrorKind::Io, "{}: cannot be written: {}", target.string(), reason(errno));
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      ensure(written >= 0, ErrorKind::Io, "{}: cannot be written: {}", target_.string(), reason(errno));
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  // On disk, closed, and readable as other files are; still under its made-up name.
  void complete() {
    // mkostemp makes files for their owner alone, and weights are no secret.
    const bool done = ::fchmod(descriptor_, 0644) == 0 && ::fsync(descriptor_) == 0;
    const int code = errno;
    ensure(done, ErrorKind::Io, "{}: cannot be written: {}", target_.string(), reason(code));
    ::close(std::exchange(descriptor_, -1));
  }
  void rename() {
    const bool done = ::rename(path_.c_str(), target_.c_str()) == 0;
    const int code = errno;
    ensure(done, ErrorKind::Io, "{}: cannot be renamed to {}: {}", path_, target_.string(), reason(code));
    path_.clear();
  }
  const fs::path& target() const { return target_; }

 private:
  fs::path target_;
  std::string path_;
  int descriptor_ = -1;
};

void flush_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;  // a folder that can be written and not read: the names reach the disk when they do
  ::fsync(descriptor);
  ::close(descriptor);
}

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
    shards[i].file = shards.size() == 1
                         ? "model.safetensors"
                         : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
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

std::string header_of(std::span<const Checkpoint::Declared> tensors, const Writer::Options& options) {
  std::string json = "{";
  const auto separate = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!options.metadata.empty()) {
    json += "\"__metadata__\":{";
    for (std::size_t i = 0; i < options.metadata.size(); ++i) {
      json += fmt::format("{}{}:{}", i > 0 ? "," : "", json_text(options.metadata[i].first),
                          json_text(options.metadata[i].second));
    }
    json += '}';
  }
  std::uint64_t at = 0;
  for (const Checkpoint::Declared& tensor : tensors) {
    const std::uint64_t end = at + bytes_of(tensor);
    separate();
    json += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", json_text(tensor.name),
                        name_of(tensor.dtype), to_text(tensor.shape), at, end);
    at = end;
  }
  json += '}';
  while (json.size() % 8 != 0) json += ' ';  // the first tensor starts at a multiple of 8
  ensure(json.size() <= kMostHeaderBytes, "a header of {} bytes, the format allows {}: use smaller shards",
         json.size(), kMostHeaderBytes);
  std::string header;
  for (int i = 0; i < 8; ++i) header += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return header + json;
}

}  // namespace

struct Writer::Impl {
  fs::path folder;
  std::vector<Checkpoint::Declared> tensors;
  Options options;
  std::vector<Shard> shards;
  std::vector<std::unique_ptr<TemporaryFile>> files;  // those begun so far
  std::size_t tensor = 0;                             // being written
  std::uint64_t written = 0;                          // bytes of it

  // Starts the shard that the tensor belongs to, if it is not started.
  void begin_shards_up_to(std::size_t number) {
    while (files.size() < shards.size() && shards[files.size()].begin <= number) {
      if (!files.empty()) files.back()->complete();
      const Shard& shard = shards[files.size()];
      files.push_back(std::make_unique<TemporaryFile>(folder / shard.file));
      files.back()->write(
          header_of(std::span(tensors).subspan(shard.begin, shard.end - shard.begin), options));
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
    std::string map;
    for (const Shard& shard : shards) {
      for (std::size_t i = shard.begin; i < shard.end; ++i) {
        total += bytes_of(tensors[i]);
        map += fmt::format("{}    {}: {}", map.empty() ? "" : ",\n", json_text(tensors[i].name),
                           json_text(shard.file));
      }
    }
    return fmt::format("{{\n  \"metadata\": {{\"total_size\": {}}},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
                       total, map);
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
    now.files.push_back(std::make_unique<TemporaryFile>(now.folder / kIndexFile));
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
