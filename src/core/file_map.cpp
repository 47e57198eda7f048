// open, fstat, mmap. The descriptor is closed at once: a mapping keeps its file alive by itself, and a
// checkpoint of several hundred shards must not meet the limit on open files.
#include "core/file_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace redline {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// std::strerror shares one buffer between threads; this does not.
std::string reason(int code) { return std::generic_category().message(code); }

}  // namespace

FileMap::FileMap(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer. It means nothing to a regular file.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) fail(ErrorKind::Io, "{}: cannot be opened: {}", path.string(), reason(errno));
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) {
    fail(ErrorKind::Io, "{}: its size cannot be read: {}", path.string(), reason(errno));
  }
  if (S_ISDIR(status.st_mode)) fail(ErrorKind::Io, "{}: {}", path.string(), reason(EISDIR));
  ensure(S_ISREG(status.st_mode), ErrorKind::Io,
         "{}: is a device, pipe or socket; only regular files can be mapped", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses a length of zero
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) {
    fail(ErrorKind::Io, "{}: {} bytes cannot be mapped: {}", path.string(), size, reason(errno));
  }
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileMap::FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileMap& FileMap::operator=(FileMap&& other) noexcept {
  if (this != &other) {
    FileMap old(std::move(*this));  // unmaps what was here
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void forget_pages(std::span<const std::byte> mapped) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Whole pages alone: from the first border inside to the last one.
  const auto at = reinterpret_cast<std::uintptr_t>(mapped.data());
  const std::size_t skipped = (page - at % page) % page;
  if (mapped.size() < skipped + page) return;
  const std::size_t bytes = (mapped.size() - skipped) / page * page;
  // The mapping is read-only and of a file, so nothing can be lost; a refusal only means that memory stays
  // used.
  ::madvise(const_cast<std::byte*>(mapped.data() + skipped), bytes, MADV_DONTNEED);
}

}  // namespace redline
