// Folders: which files are read, how index and shards are held against each other, and every sentence for
// what can be wrong with them.
#include "checkpoint/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "checkpoint/small_files.hpp"
#include "core/file_map.hpp"
#include "support/paths.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

using test::bf16;
using test::error_of;
using test::file_with;
using test::Row;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::string index_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string json;
  for (const auto& [tensor, shard] : entries)
    json += (json.empty() ? "\"" : ",\"") + tensor + "\":\"" + shard + "\"";
  return R"({"metadata":{},"weight_map":{)" + json + "}}";
}

// A folder with config.json and the given files.
class Folder {
 public:
  Folder() { folder_.write("config.json", "{}"); }
  Folder& with(std::string_view name, std::string_view bytes) {
    folder_.write(name, bytes);
    return *this;
  }
  const fs::path& path() const { return folder_.path(); }

  Checkpoint inspect() const { return Checkpoint::open_for_inspection(folder_.path()); }
  Checkpoint open() const { return Checkpoint::open(folder_.path()); }
  std::vector<std::string> faults() const {
    std::vector<std::string> sentences;
    const Checkpoint files = inspect();
    for (const Fault& fault : files.faults()) sentences.push_back(fault.message);
    // Loading stops at the first of them, and accepts what has none.
    const std::string first = error_of(ErrorKind::BadCheckpoint, [&] { open(); });
    EXPECT_EQ(first, sentences.empty() ? "" : sentences.front());
    return sentences;
  }
  std::vector<std::string> notes() const {
    const Checkpoint files = inspect();
    return {files.notes().begin(), files.notes().end()};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    const Checkpoint files = inspect();
    for (const Tensor& tensor : files.tensors()) found.emplace_back(tensor.name);
    return found;
  }

 private:
  TemporaryFolder folder_;
};

std::string refusal(const fs::path& path) {
  const std::string sentence = error_of(ErrorKind::BadInput, [&] { Checkpoint::open(path); });
  EXPECT_EQ(sentence, error_of(ErrorKind::BadInput, [&] { Checkpoint::open_for_inspection(path); }));
  return sentence;
}

std::vector<std::uint8_t> bytes_of(const Checkpoint& files, std::string_view name) {
  const Tensor* tensor = files.find(name);
  if (tensor == nullptr) return {};
  const TensorView view = files.view(*tensor);
  const auto* begin = static_cast<const std::uint8_t*>(view.data);
  return {begin, begin + tensor->bytes};
}

TEST(CheckpointFolder, OneFile) {
  Folder folder;
  folder.with("model.safetensors",
              file_with({bf16("model.language_model.norm.weight"), {"lm_head.weight", "U8", "[3]", 3}}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  const Checkpoint files = folder.open();
  EXPECT_EQ(files.name(), folder.path().filename().string());
  EXPECT_EQ(files.bytes(), Bytes::Here);
  EXPECT_THAT(files.notes(), IsEmpty());
  ASSERT_EQ(files.files().size(), 1u);
  EXPECT_EQ(files.files()[0], folder.path() / "model.safetensors");
  ASSERT_EQ(files.tensors().size(), 2u);
  EXPECT_EQ(files.tensors()[0].name, "lm_head.weight");
  const Tensor* norm = files.find("model.norm.weight");
  ASSERT_EQ(norm, &files.tensors()[1]);
  EXPECT_EQ(norm->name_on_disk, "model.language_model.norm.weight");
  EXPECT_EQ(norm->dtype, DType::BF16);
  EXPECT_EQ(norm->shape, (Shape{2, 2}));
  EXPECT_EQ(norm->file, 0);
  EXPECT_EQ(norm->bytes, 8u);
  EXPECT_EQ(files.find("model.language_model.norm.weight"), nullptr);
  EXPECT_EQ(files.find(""), nullptr);
  EXPECT_THAT(bytes_of(files, "model.norm.weight"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(bytes_of(files, "lm_head.weight"), ElementsAre(8, 9, 10));
  const TensorView view = files.view(*norm);
  EXPECT_EQ(view.strides[0], 2);
  EXPECT_EQ(view.place, Place::Host);
}

TEST(CheckpointFolder, NameIsTheFoldersWithOrWithoutASlash) {
  Folder folder;
  folder.with("model.safetensors", file_with({bf16("a")}));
  EXPECT_EQ(Checkpoint::open(folder.path() / "").name(), folder.path().filename().string());
  EXPECT_EQ(Checkpoint::open(folder.path() / ".").name(), folder.path().filename().string());
}

TEST(CheckpointFolder, ShardsWithIndex) {
  Folder folder;
  folder.with("b.safetensors", file_with({bf16("mtp.x")}))
      .with("a.safetensors", file_with({bf16("y")}, true, 8));
  folder.with(kIndex, index_of({{"y", "a.safetensors"}, {"mtp.x", "b.safetensors"}}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(), IsEmpty());
  EXPECT_THAT(folder.names(), ElementsAre("mtp.x", "y"));
  const Checkpoint files = folder.open();
  EXPECT_THAT(bytes_of(files, "mtp.x"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(bytes_of(files, "y"), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(CheckpointFolder, ShardsWithoutIndex) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("b")}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.names(), ElementsAre("a", "b"));
  Folder other;  // the spelling of some published folders
  other.with("model.safetensors-00001-of-00001.safetensors", file_with({bf16("a")}));
  EXPECT_THAT(other.faults(), IsEmpty());
  EXPECT_THAT(other.names(), ElementsAre("a"));
}

TEST(CheckpointFolder, ShardsWithoutIndexMustBeAll) {
  Folder folder;
  folder.with("model-00003-of-00004.safetensors", file_with({bf16("c")}));
  EXPECT_THAT(folder.faults(), ElementsAre("model-00001-of-00004.safetensors: is missing, with 3 in all of "
                                           "the 4 shards that the names declare: "
                                           "download again"));
  EXPECT_EQ(folder.inspect().bytes(), Bytes::NotHere);
  EXPECT_THAT(folder.names(), ElementsAre("c"));
}

TEST(CheckpointFolder, TwoSetsOfShards) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")}))
      .with(kSecond, file_with({bf16("b")}))
      .with("model-00001-of-00003.safetensors", file_with({bf16("a")}));
  EXPECT_THAT(folder.faults(), ElementsAre("model-00001-of-00003.safetensors: belongs to another set of "
                                           "shards than model-00001-of-00002.safetensors, "
                                           "and no model.safetensors.index.json says which is meant"));
}

TEST(CheckpointFolder, OtherFilesAreNotRead) {
  Folder folder;
  folder.with("model.safetensors", file_with({bf16("a")}))
      .with("logits.safetensors", "not even a header")
      .with(kFirst, "nor this");
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(),
              ElementsAre("logits.safetensors: is not part of the checkpoint and not read",
                          "model-00001-of-00002.safetensors: is not part of the checkpoint and not read"));
  Folder stale;
  stale.with("model.safetensors", file_with({bf16("a")})).with(kIndex, index_of({{"a", kFirst}}));
  EXPECT_THAT(stale.faults(), IsEmpty());
  EXPECT_THAT(
      stale.notes(),
      ElementsAre("model.safetensors.index.json does not name model.safetensors: the index is not used"));
  Folder named;
  named.with("model.safetensors", file_with({bf16("a")}))
      .with(kIndex, index_of({{"a", "model.safetensors"}}));
  EXPECT_THAT(named.faults(), IsEmpty());
  EXPECT_THAT(named.notes(), IsEmpty());
}

TEST(CheckpointFolder, NoneOrNothingUseful) {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  EXPECT_EQ(refusal(folder.path() / "none"),
            at + "/none: no such folder; expected one with config.json and safetensors files");
  EXPECT_EQ(refusal(folder.path()), at + ": config.json is missing; the folder is empty");
  folder.write("model.q4.gguf", "GGUF");
  EXPECT_EQ(refusal(folder.path()),
            at + ": config.json is missing; found model.q4.gguf: GGUF is not read, only safetensors");
  EXPECT_EQ(refusal(folder.path() / "model.q4.gguf"),
            at + "/model.q4.gguf: is a GGUF file, which is not read, expected the folder that holds "
                 "config.json and safetensors files");
  const TemporaryFolder other;
  const std::string there = other.path().string();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) other.write(name, "");
  EXPECT_EQ(refusal(other.path()), there + ": config.json is missing; found a, b, c, d and 2 more");
  EXPECT_EQ(refusal(other.path() / "a"),
            there + "/a: is not a folder, expected the folder that holds config.json and safetensors files");
  EXPECT_EQ(refusal(other.path() / "a" / "b"),
            there + "/a/b: no such folder; expected one with config.json and safetensors files");
  other.write("snapshots/0123/config.json", "{}");
  EXPECT_EQ(
      refusal(other.path()),
      there + ": config.json is missing; found snapshots: give the folder below it that holds config.json");
  other.write("config.json", "{}");
  other.write("pytorch_model.bin", "");
  EXPECT_EQ(refusal(other.path()), there +
                                       ": no model.safetensors, no shards of it and no "
                                       "model.safetensors.index.json; found pytorch_model.bin: "
                                       "pickled weights are not read, only safetensors");
}

TEST(CheckpointBytes, NotHere) {
  Folder folder;
  folder.with("model.safetensors", file_with({bf16("a")}, false));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(), IsEmpty());
  const Checkpoint files = folder.open();
  EXPECT_EQ(files.bytes(), Bytes::NotHere);
  EXPECT_EQ(files.find("a")->shape, (Shape{2, 2}));
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { files.view(*files.find("a")); }),
            files.name() + ": the bytes of tensor \"a\" are not here: download the weight files whole");
}

TEST(CheckpointBytes, SomeHere) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("b")}, false));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_EQ(folder.inspect().bytes(), Bytes::NotHere);
  EXPECT_THAT(folder.notes(),
              ElementsAre("1 of 2 files end after their headers (model-00002-of-00002.safetensors first): "
                          "the weights are not all here"));
}

TEST(CheckpointBytes, NamesOnly) {
  Folder folder;
  folder.with(kIndex, index_of({{"model.language_model.norm.weight", kFirst}, {"lm_head.weight", kSecond}}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.names(), ElementsAre("lm_head.weight", "model.norm.weight"));
  const Checkpoint files = folder.open();
  EXPECT_EQ(files.bytes(), Bytes::NamesOnly);
  EXPECT_FALSE(files.tensors()[0].has_shape);
  EXPECT_EQ(files.tensors()[1].name_on_disk, "model.language_model.norm.weight");
  EXPECT_EQ(files.files()[static_cast<std::size_t>(files.tensors()[1].file)].filename(), kFirst);
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { files.view(files.tensors()[0]); }),
            files.name() +
                ": the bytes of tensor \"lm_head.weight\" are not here: download the weight files whole");
}

TEST(CheckpointBytes, Synthetic) {
  const Checkpoint files = Checkpoint::synthetic(
      "synthetic:x", {{"b", DType::F32, {2}}, {"a", DType::BF16, {3, 5}}, {"c", DType::F32, {}}});
  EXPECT_EQ(files.name(), "synthetic:x");
  EXPECT_EQ(files.bytes(), Bytes::Synthetic);
  EXPECT_THAT(files.files(), IsEmpty());
  ASSERT_EQ(files.tensors().size(), 3u);
  EXPECT_EQ(files.tensors()[0].name, "a");
  EXPECT_EQ(files.tensors()[0].bytes, 30u);
  EXPECT_EQ(files.find("c")->bytes, 4u);
  EXPECT_EQ(files.find("c")->file, -1);
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { files.view(files.tensors()[0]); }),
            "synthetic:x: the bytes of tensor \"a\" are not here: synthetic weights are made at load");
  EXPECT_EQ(error_of(ErrorKind::Internal,
                     [] {
                       Checkpoint::synthetic("s", {{"a", DType::F32, {}}, {"a", DType::F32, {}}});
                     }),
            "s: tensor \"a\" is declared twice");
}

TEST(CheckpointFaults, CutByOneByte) {
  Folder folder;
  const std::string whole = file_with({bf16("a")});
  folder.with("model.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(folder.faults(), ElementsAre("model.safetensors: tensor \"a\" ends at byte 8 after a header of "
                                           "65, the file has 72 bytes: it is cut short "
                                           "or the header is damaged, download it again"));
  const Checkpoint files = folder.inspect();
  EXPECT_EQ(
      error_of(ErrorKind::BadCheckpoint, [&] { files.view(*files.find("a")); }),
      "model.safetensors: tensor \"a\" has 8 bytes from byte 65 on, the file has 72: download it again");
}

// Cut at every byte through a folder: an error with a sentence, never a crash, never acceptance.
TEST(CheckpointFaults, CutAnywhere) {
  const std::string whole = file_with({bf16("a"), {"b", "F32", "[]", 4}});
  const std::size_t header = whole.size() - 12;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    Folder folder;
    folder.with("model.safetensors", whole.substr(0, size));
    EXPECT_EQ(folder.faults().size(), size == header ? 0u : 1u) << "cut at " << size;
  }
}

TEST(CheckpointFaults, NoTensor) {
  Folder folder;
  folder.with("model.safetensors", test::file_of("{}", 0));
  EXPECT_THAT(folder.faults(), ElementsAre("model.safetensors: holds no tensor"));
}

TEST(CheckpointFaults, AllAreListed) {
  Folder folder;
  folder.with(kFirst, "short").with(kSecond, test::file_of("[]", 0));
  EXPECT_THAT(folder.faults(),
              ElementsAre("model-00001-of-00002.safetensors: the file has 5 bytes, a safetensors file starts "
                          "with 8 of header length: download it again",
                          "model-00002-of-00002.safetensors: the header is JSON, but not an object"));
  EXPECT_EQ(folder.inspect().faults()[1].file, kSecond);
}

TEST(CheckpointFaults, NotARegularFile) {
  Folder folder;
  fs::create_directory(folder.path() / "model.safetensors");
  EXPECT_THAT(folder.faults(), ElementsAre("model.safetensors: is a folder, expected a regular file"));
  Folder pipe;
  ASSERT_EQ(mkfifo((pipe.path() / "model.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(pipe.faults(),
              ElementsAre("model.safetensors: is a device, pipe or socket, expected a regular file"));
  Folder broken;
  fs::create_symlink("nowhere", broken.path() / "model.safetensors");
  EXPECT_THAT(broken.faults(),
              ElementsAre("model.safetensors: is a link to a file that is not there: download it again"));
}

TEST(CheckpointFaults, NotReadable) {
  Folder folder;  // a loop of links cannot be opened, whoever asks
  const fs::path file = folder.path() / "model.safetensors";
  fs::create_symlink("model.safetensors", file);
  const std::string sentence = file.string() + ": cannot be opened: Too many levels of symbolic links";
  EXPECT_EQ(error_of(ErrorKind::Io, [&] { folder.open(); }), sentence);
  ASSERT_EQ(folder.inspect().faults().size(), 1u);
  EXPECT_EQ(folder.inspect().faults()[0].message, sentence);

  Folder index;
  fs::create_symlink(kIndex, index.path() / kIndex);
  index.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("b")}));
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { index.open(); }),
            (index.path() / kIndex).string() + ": cannot be opened: Too many levels of symbolic links");
}

TEST(CheckpointNames, IgnoredOnes) {
  Folder folder;
  folder.with("model.safetensors",
              file_with({bf16("model.layers.0.self_attn.rotary_emb.inv_freq"), bf16("a")}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  EXPECT_THAT(folder.notes(), ElementsAre("1 rotary_emb.inv_freq tensor ignored: config.json defines them"));
}

TEST(CheckpointNames, TwoSpellingsOfOne) {
  Folder folder;
  folder.with("model.safetensors",
              file_with({bf16("model.norm.weight"), bf16("model.language_model.norm.weight")}));
  EXPECT_THAT(folder.faults(), ElementsAre("model.safetensors: tensor \"model.language_model.norm.weight\" "
                                           "and tensor \"model.norm.weight\" of "
                                           "model.safetensors are two spellings of one name"));
  EXPECT_THAT(folder.names(), ElementsAre("model.norm.weight"));
}

TEST(CheckpointDuplicates, Equal) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a"), bf16("b")}))
      .with(kSecond, file_with({bf16("a"), bf16("b"), bf16("c")}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.names(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(folder.notes(), ElementsAre("model-00002-of-00002.safetensors: tensor \"a\" and 1 more are in "
                                          "model-00001-of-00002.safetensors too, "
                                          "equal; that file's are used"));
  folder.with(kIndex, index_of({{"a", kSecond}, {"b", kFirst}, {"c", kSecond}}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(), ElementsAre("model-00001-of-00002.safetensors: tensor \"a\" is in "
                                          "model-00002-of-00002.safetensors too, equal; that "
                                          "file's is used",
                                          "model-00002-of-00002.safetensors: tensor \"b\" is in "
                                          "model-00001-of-00002.safetensors too, equal; that "
                                          "file's is used"));
}

TEST(CheckpointDuplicates, WithoutBytes) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")}, false)).with(kSecond, file_with({bf16("a")}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(),
              ElementsAre("1 of 2 files end after their headers (model-00001-of-00002.safetensors first): "
                          "the weights are not all here",
                          "model-00002-of-00002.safetensors: tensor \"a\" is in "
                          "model-00001-of-00002.safetensors too, as far as their "
                          "headers tell equal; that file's is used"));
}

TEST(CheckpointDuplicates, Different) {
  Folder bytes;
  bytes.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("a")}, true, 1));
  EXPECT_THAT(bytes.faults(), ElementsAre("model-00002-of-00002.safetensors: tensor \"a\" is in "
                                          "model-00001-of-00002.safetensors too, with other bytes "
                                          "of the same BF16 [2, 2]"));
  Folder last_byte;
  std::string other = file_with({bf16("a")});
  other.back() ^= 1;
  last_byte.with(kFirst, file_with({bf16("a")})).with(kSecond, other);
  EXPECT_EQ(last_byte.faults().size(), 1u);
  Folder shape;
  shape.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({{"a", "BF16", "[4]", 8}}));
  EXPECT_THAT(shape.faults(), ElementsAre("model-00002-of-00002.safetensors: tensor \"a\" is in "
                                          "model-00001-of-00002.safetensors too, with other "
                                          "contents: BF16 [2, 2] there, BF16 [4] here"));
  Folder dtype;
  dtype.with(kFirst, file_with({bf16("a")}, false))
      .with(kSecond, file_with({{"a", "F16", "[2,2]", 8}}, false));
  EXPECT_THAT(dtype.faults(), ElementsAre("model-00002-of-00002.safetensors: tensor \"a\" is in "
                                          "model-00001-of-00002.safetensors too, with other "
                                          "contents: BF16 [2, 2] there, F16 [2, 2] here"));
}

TEST(CheckpointIndex, NamesAMissingShard) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")}))
      .with(kIndex, index_of({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}}));
  EXPECT_THAT(folder.faults(), ElementsAre("model-00002-of-00002.safetensors: is missing; "
                                           "model.safetensors.index.json says that it holds 2 tensors, "
                                           "\"b\" among them"));
  const Checkpoint files = folder.inspect();
  EXPECT_EQ(files.bytes(), Bytes::NotHere);
  EXPECT_THAT(folder.names(), ElementsAre("a", "b", "c"));  // names are known, and inspect counts them
  EXPECT_TRUE(files.find("a")->has_shape);
  EXPECT_FALSE(files.find("b")->has_shape);
  Folder one;
  one.with(kFirst, file_with({bf16("a")})).with(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}));
  EXPECT_THAT(one.faults(), ElementsAre("model-00002-of-00002.safetensors: is missing; "
                                        "model.safetensors.index.json says that it holds tensor \"b\""));
  Folder odd;  // a terminal does not obey the names in an index
  odd.with(kFirst, file_with({bf16("a")}))
      .with(kIndex, index_of({{"a", kFirst}, {"b", "x\\u001b[2J.safetensors"}}));
  EXPECT_THAT(odd.faults(),
              ElementsAre("x\\x1b[2J.safetensors: is missing; model.safetensors.index.json says "
                          "that it holds tensor \"b\""));
}

TEST(CheckpointIndex, NamesATensorThatItsShardLacks) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("b")}));
  folder.with(kIndex, index_of({{"a", kFirst}, {"x", kFirst}, {"y", kFirst}, {"b", kSecond}}));
  EXPECT_THAT(folder.faults(), ElementsAre("model-00001-of-00002.safetensors: tensor \"x\" and 1 more are "
                                           "lacking, which model.safetensors.index.json "
                                           "places here: download the file again"));
  EXPECT_THAT(folder.names(), ElementsAre("a", "b"));
  Folder elsewhere;
  elsewhere.with(kFirst, file_with({bf16("a"), bf16("b")})).with(kSecond, file_with({bf16("c")}));
  elsewhere.with(kIndex, index_of({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}}));
  EXPECT_THAT(elsewhere.faults(), ElementsAre("model-00002-of-00002.safetensors: tensor \"b\" is lacking, "
                                              "which model.safetensors.index.json places here; "
                                              "model-00001-of-00002.safetensors holds it"));
}

TEST(CheckpointIndex, LacksATensor) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a"), bf16("b"), bf16("c")})).with(kIndex, index_of({{"a", kFirst}}));
  EXPECT_THAT(folder.faults(), IsEmpty());
  EXPECT_THAT(folder.notes(), ElementsAre("model-00001-of-00002.safetensors: tensor \"b\" and 1 more are not "
                                          "in model.safetensors.index.json: the index is "
                                          "out of date"));
  EXPECT_THAT(folder.names(), ElementsAre("a", "b", "c"));
}

// One broken shard is one fault, not one for each of its tensors.
TEST(CheckpointIndex, ABrokenShardIsToldOnce) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")}))
      .with(kSecond, "short")
      .with(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}));
  EXPECT_THAT(folder.faults(), ElementsAre("model-00002-of-00002.safetensors: the file has 5 bytes, a "
                                           "safetensors file starts with 8 of header length: "
                                           "download it again"));
  EXPECT_THAT(folder.names(), ElementsAre("a", "b"));
  Folder tensor;
  tensor.with(kFirst, file_with({bf16("a"), {"b", "Q4", "[1]", 1}}))
      .with(kIndex, index_of({{"a", kFirst}, {"b", kFirst}}));
  EXPECT_THAT(tensor.faults(), ElementsAre("model-00001-of-00002.safetensors: tensor \"b\": dtype Q4 is not "
                                           "one of F32, BF16, F16, F8_E4M3, I32, I64, U8"));
}

TEST(CheckpointIndex, Broken) {
  Folder folder;
  folder.with(kFirst, file_with({bf16("a")})).with(kSecond, file_with({bf16("b")})).with(kIndex, "{");
  EXPECT_THAT(
      folder.faults(),
      ElementsAre(
          "model.safetensors.index.json: the index is not JSON: the file is damaged, download it again"));
  EXPECT_THAT(folder.names(), ElementsAre("a", "b"));  // inspection goes on with the shards' own names
  Folder alone;
  alone.with(kIndex, R"({"weight_map":{}})");
  EXPECT_THAT(alone.faults(), ElementsAre("model.safetensors.index.json: weight_map is empty"));
  Folder outside;
  outside.with(kIndex, index_of({{"a", "../model.safetensors"}, {"b", kFirst}}))
      .with(kFirst, file_with({bf16("b")}));
  EXPECT_THAT(outside.faults(), ElementsAre("model.safetensors.index.json: tensor \"a\": "
                                            "\"../model.safetensors\" is not the name of a file beside the "
                                            "index"));
}

// A gigabyte that nobody wrote: opening must not make the system read from the middle of it.
TEST(CheckpointOpening, TouchesNoWeights) {
  Folder folder;
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
  const fs::path file = folder.path() / "model.safetensors";
  const std::string header = test::file_of(test::json_of({{"a", "U8", "[1073741824]", kBytes}}), 0);
  folder.with("model.safetensors", header);
  fs::resize_file(file, header.size() + kBytes);
  const Checkpoint files = folder.open();
  EXPECT_EQ(files.bytes(), Bytes::Here);

  const FileMap map(file);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((map.size() + page - 1) / page);
  ASSERT_EQ(mincore(const_cast<std::byte*>(map.bytes().data()), map.size(), resident.data()), 0);
  std::size_t read = 0;
  for (std::size_t i = resident.size() / 2; i < resident.size(); ++i) read += resident[i] & 1;
  EXPECT_EQ(read, 0u);
}

TEST(CheckpointGolden, AllOfTheLibrariesFilesOpen) {
  const fs::path golden = redline::test::golden_dir() / "checkpoints";
  int opened = 0;
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    const Checkpoint files = Checkpoint::open(entry.path());
    EXPECT_EQ(files.bytes(), Bytes::Here) << entry.path();
    EXPECT_GT(files.tensors().size(), 30u) << entry.path();
    EXPECT_NE(files.find("model.embed_tokens.weight"), nullptr) << entry.path();
    for (const Tensor& tensor : files.tensors()) EXPECT_NE(files.view(tensor).data, nullptr) << tensor.name;
    ++opened;
  }
  EXPECT_GE(opened, 8);
}

}  // namespace
}  // namespace redline::checkpoint
