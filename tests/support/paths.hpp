// Where tests find their files: golden checkpoints, case files, and real data that is not committed.
#pragma once

#include <filesystem>
#include <optional>

namespace redline::test {

std::filesystem::path source_dir();  // the repository
std::filesystem::path golden_dir();  // tests/golden
std::optional<std::filesystem::path>
real_data_dir();  // REDLINE_REAL_DATA (CMake setting or environment), if it is set and there

}  // namespace redline::test
