// Paths compiled in by cmake/RedlineTests.cmake.
#include "support/paths.hpp"

#include <cstdlib>
#include <string>

namespace redline::test {

std::filesystem::path source_dir() { return REDLINE_SOURCE_DIR; }

std::filesystem::path golden_dir() { return source_dir() / "tests" / "golden"; }

std::optional<std::filesystem::path> real_data_dir() {
  std::string folder = REDLINE_REAL_DATA;
  if (const char* from_environment = std::getenv("REDLINE_REAL_DATA")) folder = from_environment;
  if (folder.empty() || !std::filesystem::is_directory(folder)) return std::nullopt;
  return folder;
}

}  // namespace redline::test
