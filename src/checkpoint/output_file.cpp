// System calls with their errors, and JSON by hand: headers have up to a hundred thousand entries of one
// form.
#include "checkpoint/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "checkpoint/safetensors.hpp"
#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

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

}  // namespace

OutputFile::OutputFile(const fs::path& target, Name name) : target_(target) {
  if (name == Name::Part) {
    path_ = target.string() + ".part";
    descriptor_ = ::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  } else {
    path_ = target.string() + ".XXXXXX";
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
  }
  const int code = errno;
  if (descriptor_ < 0) path_.clear();
  ensure(descriptor_ >= 0, ErrorKind::Io, "{}: cannot be written: {}", target.string(), reason(code));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    ensure(written >= 0, ErrorKind::Io, "{}: cannot be written: {}", target_.string(), reason(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    ensure(written >= 0, ErrorKind::Io, "{}: cannot be written: {}", target_.string(), reason(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::complete() {
  // Temporary files are made for their owner alone, and weights are no secret.
  const bool done = ::fchmod(descriptor_, 0644) == 0 && ::fsync(descriptor_) == 0;
  const int code = errno;
  ensure(done, ErrorKind::Io, "{}: cannot be written: {}", target_.string(), reason(code));
  ::close(std::exchange(descriptor_, -1));
}

void OutputFile::rename() {
  const bool done = ::rename(path_.c_str(), target_.c_str()) == 0;
  const int code = errno;
  ensure(done, ErrorKind::Io, "{}: cannot be renamed to {}: {}", path_, target_.string(), reason(code));
  path_.clear();
}

void write_whole_file(const fs::path& target, std::string_view text) {
  OutputFile file(target, OutputFile::Name::Part);
  file.write(text);
  file.complete();
  file.rename();
}

void flush_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;  // a folder that can be written and not read: the names reach the disk when they do
  ::fsync(descriptor);
  ::close(descriptor);
}

std::uint64_t bytes_of(const Checkpoint::Declared& tensor) {
  return static_cast<std::uint64_t>(tensor.shape.elements() * bits_of(tensor.dtype)) / 8;
}

std::string shard_name(std::size_t number, std::size_t count) {
  if (count == 1) return "model.safetensors";
  return fmt::format("model-{:05}-of-{:05}.safetensors", number + 1, count);
}

std::string safetensors_header(std::span<const Checkpoint::Declared> tensors,
                               std::span<const std::pair<std::string, std::string>> metadata) {
  std::string json = "{";
  const auto separate = [&] {
    if (json.size() > 1) json += ',';
  };
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (std::size_t i = 0; i < metadata.size(); ++i) {
      json += fmt::format("{}{}:{}", i > 0 ? "," : "", json_text(metadata[i].first),
                          json_text(metadata[i].second));
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

std::string index_text(std::span<const IndexLine> lines, std::uint64_t total) {
  std::string map;
  for (const IndexLine& line : lines) {
    map +=
        fmt::format("{}    {}: {}", map.empty() ? "" : ",\n", json_text(line.tensor), json_text(line.file));
  }
  return fmt::format("{{\n  \"metadata\": {{\"total_size\": {}}},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
                     total, map);
}

}  // namespace redline::checkpoint
