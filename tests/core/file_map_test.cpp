// The bytes of a map against the bytes written, moves, and the errors a user meets.
#include "core/file_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"

namespace redline {
namespace {

using testing::HasSubstr;

std::string text_of(const FileMap& map) {
  return {reinterpret_cast<const char*>(map.bytes().data()), map.size()};
}

std::string error_of(const std::filesystem::path& path) {
  try {
    const FileMap map(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Io);
    return error.what();
  }
  ADD_FAILURE() << "no error for " << path;
  return {};
}

TEST(FileMap, ShowsTheBytesOfTheFile) {
  const test::TemporaryFolder folder;
  std::string written(10'000, '\0');  // crosses page borders, with zeros and high bytes
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<char>(i * 31 >> 2);
  const FileMap map(folder.write("a.bin", written));
  EXPECT_EQ(map.size(), written.size());
  EXPECT_EQ(text_of(map), written);
}

TEST(FileMap, EmptyFileIsAnEmptySpan) {
  const test::TemporaryFolder folder;
  const FileMap map(folder.write("empty", ""));
  EXPECT_EQ(map.size(), 0u);
  EXPECT_TRUE(map.bytes().empty());
  EXPECT_TRUE(FileMap().bytes().empty());
}

TEST(FileMap, MovesWithoutMovingTheBytes) {
  const test::TemporaryFolder folder;
  FileMap first(folder.write("a", "first"));
  const std::byte* const place = first.bytes().data();
  FileMap second(std::move(first));
  EXPECT_EQ(second.bytes().data(), place);
  EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): moved-from maps are empty by contract
  FileMap third(folder.write("b", "third"));
  third = std::move(second);
  EXPECT_EQ(text_of(third), "first");
  FileMap& same = third;
  third = std::move(same);
  EXPECT_EQ(text_of(third), "first");
}

TEST(FileMap, SurvivesRemovalOfTheFile) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a", "still here");
  const FileMap map(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(map), "still here");
}

TEST(FileMap, HoldsNoDescriptor) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a", "x");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 64);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<FileMap> maps;
  for (int i = 0; i < 200; ++i) EXPECT_NO_THROW(maps.emplace_back(path));
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(FileMap, ErrorsNameTheFileAndTheReason) {
  const test::TemporaryFolder folder;
  const auto missing = folder.path() / "missing.safetensors";
  EXPECT_EQ(error_of(missing), missing.string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of(folder.path()), folder.path().string() + ": Is a directory");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe), HasSubstr("only regular files can be mapped"));
}

}  // namespace
}  // namespace redline
