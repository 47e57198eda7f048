// What the writer writes, read back with our reader; tests/checkpoint/writer_test.py reads the same files
// with the safetensors package.
#include "checkpoint/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/small_files.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

using test::error_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

using Declared = std::vector<Checkpoint::Declared>;

// Byte b of tensor t is (31 b + 7 t) mod 256; writer_test.py has the same rule.
std::vector<std::byte> content(std::size_t tensor, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(31 * i + 7 * tensor);
  return out;
}

std::size_t bytes_of(const Checkpoint::Declared& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements() * bits_of(tensor.dtype)) / 8;
}

Declared all_types() {
  return {{"a.f32", DType::F32, {3, 2}},
          {"a.i64", DType::I64, {2}},
          {"a.i32", DType::I32, {1, 1, 1, 1, 5}},
          {"a.bf16", DType::BF16, {7, 3}},
          {"a.f16", DType::F16, {}},
          {"a.empty", DType::BF16, {0, 4}},
          {"a.f8", DType::F8E4M3, {3}},
          {"quote \" backslash \\ line\nend 层", DType::U8, {2, 2}},
          {"a.last", DType::U8, {0}}};
}

void write_all(const fs::path& folder, const Declared& tensors, std::uint64_t most_shard_bytes) {
  Writer writer(
      folder, tensors,
      {.metadata = {{"format", "pt"}, {"note", "a \"b\"\t层"}}, .most_shard_bytes = most_shard_bytes});
  for (std::size_t i = 0; i < tensors.size(); ++i)
    writer.write(tensors[i].name, content(i, bytes_of(tensors[i])));
  writer.finish();
}

void expect_all(const Checkpoint& files, const Declared& tensors) {
  EXPECT_EQ(files.tensors().size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor* tensor = files.find(tensors[i].name);
    ASSERT_NE(tensor, nullptr) << tensors[i].name;
    EXPECT_EQ(tensor->dtype, tensors[i].dtype);
    EXPECT_EQ(tensor->shape, tensors[i].shape);
    const TensorView view = files.view(*tensor);
    const auto* begin = static_cast<const std::byte*>(view.data);
    EXPECT_EQ(std::vector<std::byte>(begin, begin + tensor->bytes), content(i, bytes_of(tensors[i])))
        << tensors[i].name;
  }
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// writer_test.py gives the folder, so that it can read what this test wrote.
TEST(Writer, FilesForEveryReader) {
  const TemporaryFolder temporary;
  const char* const given = std::getenv("REDLINE_WRITER_TEST_FOLDER");
  const fs::path folder = given != nullptr ? fs::path(given) : temporary.path();
  for (const auto& [name, most] : {std::pair("one", 0), std::pair("many", 40)}) {
    const fs::path place = folder / name;
    fs::create_directories(place);
    std::ofstream(place / "config.json") << "{}";
    write_all(place, all_types(), static_cast<std::uint64_t>(most));
    const Checkpoint files = Checkpoint::open(place);
    EXPECT_THAT(files.notes(), IsEmpty());
    expect_all(files, all_types());
  }
  EXPECT_THAT(files_in(folder / "one"), ElementsAre("config.json", "model.safetensors"));
  // 24 + 16 bytes | 20 | 42 is too large for any shard | 2 + 0 + 3 + 4 + 0
  EXPECT_THAT(files_in(folder / "many"),
              ElementsAre("config.json", "model-00001-of-00004.safetensors",
                          "model-00002-of-00004.safetensors", "model-00003-of-00004.safetensors",
                          "model-00004-of-00004.safetensors", "model.safetensors.index.json"));
}

TEST(Writer, DataStartsAtAMultipleOfEight) {
  for (int length = 1; length < 9; ++length) {
    const TemporaryFolder folder;
    Writer writer(folder.path(), {{std::string(static_cast<std::size_t>(length), 'n'), DType::U8, {1}}}, {});
    writer.write(std::string(static_cast<std::size_t>(length), 'n'), content(0, 1));
    const std::vector<fs::path> files = writer.finish();
    EXPECT_EQ((fs::file_size(files.at(0)) - 1) % 8, 0u);
  }
}

TEST(Writer, TakesPiecesAndGivesMetadata) {
  const TemporaryFolder folder;
  Writer writer(folder.path(), {{"a", DType::U8, {5}}, {"b", DType::F32, {}}}, {.metadata = {{"k", "v"}}});
  const std::vector<std::byte> a = content(0, 5), b = content(1, 4);
  writer.write("a", std::span(a).first(2));
  writer.write("a", {});
  writer.write("a", std::span(a).subspan(2, 1));
  writer.write("a", std::span(a).subspan(3));
  writer.write("b", b);
  const std::vector<fs::path> paths = writer.finish();
  ASSERT_THAT(paths, ElementsAre(folder.path() / "model.safetensors"));
  std::ifstream in(paths[0], std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> faults;
  const SafetensorsHeader header = read_header(std::as_bytes(std::span(file)), "x", faults);
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_THAT(header.metadata, ElementsAre(std::pair<std::string, std::string>("k", "v")));
  EXPECT_EQ(file.substr(file.size() - 9),
            std::string("\x00\x1f\x3e\x5d\x7c\x07\x26\x45\x64", 9));  // 31 b + 7 t by hand
  struct stat status {};
  ASSERT_EQ(stat(paths[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(Writer, LeavesNothingBehindWhenGivenUp) {
  const TemporaryFolder folder;
  {
    Writer writer(folder.path(), {{"a", DType::U8, {2}}, {"b", DType::U8, {2}}}, {.most_shard_bytes = 2});
    writer.write("a", content(0, 2));
    writer.write("b", content(1, 1));
    EXPECT_EQ(files_in(folder.path()).size(), 2u);
    for (const std::string& name : files_in(folder.path()))
      EXPECT_FALSE(name.ends_with(".safetensors")) << name;
    EXPECT_EQ(error_of(ErrorKind::Internal, [&] { writer.finish(); }),
              "tensor \"b\": 1 of 2 bytes are written");
  }
  EXPECT_THAT(files_in(folder.path()), IsEmpty());
}

TEST(Writer, ReplacesWhatWasThereInOneGo) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "old");
  Writer writer(folder.path(), {{"a", DType::U8, {1}}}, {});
  writer.write("a", content(0, 1));
  EXPECT_EQ(fs::file_size(folder.path() / "model.safetensors"), 3u);
  writer.finish();
  EXPECT_NE(Checkpoint::open(folder.path()).find("a"), nullptr);
}

TEST(Writer, RefusesMistakes) {
  const TemporaryFolder folder;
  const auto made_of = [&](Declared tensors, Writer::Options options = {}) {
    return error_of(ErrorKind::Internal,
                    [&] { Writer(folder.path(), std::move(tensors), std::move(options)); });
  };
  EXPECT_EQ(made_of({{"a", DType::U8, {1}}, {"a", DType::U8, {1}}}), "tensor \"a\" is to be written twice");
  EXPECT_EQ(made_of({{"a", DType::F4E2M1, {2}}}), "tensor \"a\": four-bit codes are U8 on disk");
  EXPECT_EQ(made_of({{"", DType::U8, {1}}}), "\"\" cannot be the name of a tensor");
  EXPECT_EQ(made_of({{"__metadata__", DType::U8, {1}}}), "\"__metadata__\" cannot be the name of a tensor");
  EXPECT_EQ(made_of({{std::string("a\0b", 3), DType::U8, {1}}}),
            "\"a\\x00b\" cannot be the name of a tensor");
  EXPECT_NE(made_of({{"\xff", DType::U8, {1}}}), "");
  EXPECT_EQ(made_of({}, {.metadata = {{"k", "1"}, {"k", "2"}}}), "metadata \"k\" is to be written twice");
  EXPECT_EQ(made_of({}, {.metadata = {{"k", "\xff"}}}), "metadata \"k\" is not UTF-8");
  Writer writer(folder.path(), {{"a", DType::U8, {2}}, {"b", DType::U8, {1}}}, {});
  const auto wrote = [&](const char* name, std::size_t bytes) {
    return error_of(ErrorKind::Internal, [&] { writer.write(name, content(0, bytes)); });
  };
  EXPECT_EQ(wrote("b", 1), "tensor \"b\" is written where \"a\" is due, 0 of its 2 bytes being there");
  EXPECT_EQ(wrote("a", 3), "tensor \"a\": 3 bytes after 0 of 2");
  EXPECT_EQ(wrote("a", 1), "");
  EXPECT_EQ(wrote("b", 1), "tensor \"b\" is written where \"a\" is due, 1 of its 2 bytes being there");
  EXPECT_EQ(wrote("a", 1), "");
  EXPECT_EQ(wrote("b", 1), "");
  EXPECT_EQ(wrote("c", 1), "tensor \"c\": all declared tensors are written already");
}

TEST(Writer, SaysWhyAFolderWillNotDo) {
  const TemporaryFolder folder;
  const fs::path none = folder.path() / "none";
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { Writer(none, {}, {}); }),
            none.string() + ": cannot be listed: No such file or directory");
  folder.write("model-00001-of-00002.safetensors", "");
  EXPECT_EQ(error_of(ErrorKind::BadInput,
                     [&] {
                       Writer(folder.path(), {{"a", DType::U8, {1}}}, {});
                     }),
            folder.path().string() +
                ": holds model-00001-of-00002.safetensors, which belongs to other weights: write into an "
                "empty folder");
}

TEST(Writer, WritesNoTensorsToo) {
  const TemporaryFolder folder;
  EXPECT_EQ(Writer(folder.path(), {}, {}).finish().size(), 1u);
  EXPECT_EQ(fs::file_size(folder.path() / "model.safetensors"), 16u);  // eight of length, {} and six spaces
}

}  // namespace
}  // namespace redline::checkpoint
