// A file's bytes as memory, read-only: what checkpoints and tokenizer files are read through. The system
// reads pages when they are touched, so opening a shard of many gigabytes costs no more than its header. A
// file that somebody cuts short while it is mapped raises SIGBUS at the first touch past its new end; nothing
// here can prevent that, so a checkpoint must not be rewritten in place while it is open.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace redline {

class FileMap {
 public:
  FileMap() = default;  // maps nothing; bytes() is empty
  explicit FileMap(
      const std::filesystem::path& path);  // throws Error(Io): the file's name and the system's reason
  ~FileMap();
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }  // stays where it is when the object is moved

 private:
  std::span<const std::byte> bytes_;
};

// Mapped pages that lie wholly inside these bytes are given back: whoever walks once through a file larger
// than memory does not fill it with what was read. They are read again where they are touched again.
void forget_pages(std::span<const std::byte> mapped);

}  // namespace redline
