// A folder that exists as long as the object does; each test has its own.
#pragma once

#include <filesystem>
#include <string_view>

namespace redline::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name,
                              std::string_view bytes) const;  // returns the file's path

 private:
  std::filesystem::path path_;
};

}  // namespace redline::test
