// Every way in which a safetensors file can be wrong, with the sentence a user reads.
#include "checkpoint/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/small_files.hpp"

namespace redline::checkpoint {
namespace {

using test::error_of;
using test::file_of;
using testing::ElementsAre;
using testing::IsEmpty;

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<std::string> faults_of(const std::string& file) {
  std::vector<std::string> faults;
  read_header(as_bytes(file), "x.safetensors", faults);
  return faults;
}

TEST(SafetensorsHeader, IsReadWhole) {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},)"
      R"("a":{"shape":[2,3],"dtype":"BF16","data_offsets":[0,12],"more":[1]},"none":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}   )";
  const std::string file = file_of(json, 16);
  std::vector<std::string> faults;
  const SafetensorsHeader header = read_header(as_bytes(file), "x", faults);
  EXPECT_THAT(faults, IsEmpty());
  EXPECT_EQ(header.header_bytes, 8 + json.size());
  EXPECT_TRUE(header.readable && header.all_read && header.bytes_here);
  EXPECT_THAT(header.metadata, ElementsAre(std::pair<std::string, std::string>("format", "pt")));
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "b");
  EXPECT_EQ(header.tensors[0].dtype, DType::F32);
  EXPECT_EQ(header.tensors[0].shape, Shape{});
  EXPECT_EQ(header.tensors[0].begin, 12u);
  EXPECT_EQ(header.tensors[0].end, 16u);
  EXPECT_EQ(header.tensors[1].shape, (Shape{2, 3}));
  EXPECT_EQ(header.tensors[2].shape, (Shape{0, 7}));
}

TEST(SafetensorsHeader, KnowsEveryTypeOfTheFamily) {
  const std::array<std::pair<const char*, DType>, 7> types = {{{"F32", DType::F32},
                                                               {"BF16", DType::BF16},
                                                               {"F16", DType::F16},
                                                               {"F8_E4M3", DType::F8E4M3},
                                                               {"I32", DType::I32},
                                                               {"I64", DType::I64},
                                                               {"U8", DType::U8}}};
  for (const auto& [name, dtype] : types) {
    const std::size_t bytes = static_cast<std::size_t>(bits_of(dtype)) / 8 * 6;
    const std::string file = test::file_with({{"t", name, "[3,2]", bytes}});
    std::vector<std::string> faults;
    const SafetensorsHeader header = read_header(as_bytes(file), "x", faults);
    EXPECT_THAT(faults, IsEmpty()) << name;
    ASSERT_EQ(header.tensors.size(), 1u) << name;
    EXPECT_EQ(header.tensors[0].dtype, dtype);
  }
}

struct Wrong {
  const char* title;
  std::string json;
  std::size_t data_bytes;
  const char* sentence;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.title; }

std::string with(const std::string& fields) { return R"({"a":{)" + fields + "}}"; }

class WrongHeader : public testing::TestWithParam<Wrong> {};

TEST_P(WrongHeader, IsRefused) {
  const Wrong& wrong = GetParam();
  EXPECT_THAT(faults_of(file_of(wrong.json, wrong.data_bytes)), ElementsAre(wrong.sentence));
  // Loading stops with the same sentence.
  const test::TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", file_of(wrong.json, wrong.data_bytes));
  std::string sentence = wrong.sentence;
  sentence.replace(0, 1, "model");
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { Checkpoint::open(folder.path()); }), sentence);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongHeader,
    testing::Values(
        Wrong{"NotJson", "{\"a\":", 0,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"TextAfterTheObject", "{} x", 0,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"Empty", "", 0,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"ByteOrderMark", "\xef\xbb\xbf{}", 0,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"NotUtf8", "{\"\xff\":1}", 0,
              "x.safetensors: the header is not UTF-8: the file is damaged, download it again"},
        Wrong{"HalfASurrogate", R"({"\ud800":1})", 0,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"List", "[]", 0, "x.safetensors: the header is JSON, but not an object"},
        Wrong{"Number", "17", 0, "x.safetensors: the header is JSON, but not an object"},
        Wrong{"TensorIsNoObject", R"({"a":[1]})", 0,
              "x.safetensors: tensor \"a\": expected an object with dtype, shape and data_offsets"},
        Wrong{"NoDtype", with(R"("shape":[1],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": dtype is missing"},
        Wrong{"NoShape", with(R"("dtype":"U8","data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": shape is missing"},
        Wrong{"NoOffsets", with(R"("dtype":"U8","shape":[1])"), 1,
              "x.safetensors: tensor \"a\": data_offsets is missing"},
        Wrong{"DtypeIsNumber", with(R"("dtype":8,"shape":[1],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": dtype is not a text"},
        Wrong{
            "DtypeUnknown", with(R"("dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1])"), 1,
            "x.safetensors: tensor \"a\": dtype F8_E8M0 is not one of F32, BF16, F16, F8_E4M3, I32, I64, U8"},
        Wrong{"DtypeFourBits", with(R"("dtype":"F4","shape":[2],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": dtype F4 is not one of F32, BF16, F16, F8_E4M3, I32, I64, U8"},
        Wrong{
            "DtypeOfOursAlone", with(R"("dtype":"F4_E2M1","shape":[2],"data_offsets":[0,1])"), 1,
            "x.safetensors: tensor \"a\": dtype F4_E2M1 is not one of F32, BF16, F16, F8_E4M3, I32, I64, U8"},
        Wrong{"ShapeIsText", with(R"("dtype":"U8","shape":"1","data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": shape is not a list"},
        Wrong{"ShapeNegative", with(R"("dtype":"U8","shape":[2,-1],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": shape[1] is not a whole number from 0 on"},
        Wrong{"ShapeFraction", with(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": shape[0] is not a whole number from 0 on"},
        Wrong{"ShapeTooLong", with(R"("dtype":"U8","shape":[1,1,1,1,1,1],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": shape has more than 5 sizes"},
        Wrong{"ShapeProductOverflows",
              with(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
              "x.safetensors: tensor \"a\": shape has more elements than any file can hold"},
        Wrong{"ShapeProductOverflowsBeforeAZero",
              with(R"("dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0])"), 0,
              "x.safetensors: tensor \"a\": shape has more elements than any file can hold"},
        Wrong{"ShapeOverflowsAfterAZero",
              with(R"("dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0])"), 0,
              "x.safetensors: tensor \"a\": shape has more elements than any file can hold"},
        Wrong{"OffsetsNegative", with(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])"), 1,
              "x.safetensors: tensor \"a\": data_offsets is not a list of two whole numbers from 0 on"},
        Wrong{"OffsetsPast64Bits",
              with(R"("dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616])"), 1,
              "x.safetensors: the header is not JSON: the file is damaged, download it again"},
        Wrong{"OffsetsThree", with(R"("dtype":"U8","shape":[1],"data_offsets":[0,1,2])"), 1,
              "x.safetensors: tensor \"a\": data_offsets is not a list of two whole numbers from 0 on"},
        Wrong{"OffsetsOne", with(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), 1,
              "x.safetensors: tensor \"a\": data_offsets is not a list of two whole numbers from 0 on"},
        Wrong{"OffsetsNoList", with(R"("dtype":"U8","shape":[1],"data_offsets":{"0":1})"), 1,
              "x.safetensors: tensor \"a\": data_offsets is not a list of two whole numbers from 0 on"},
        Wrong{"OffsetsBackwards", with(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), 1,
              "x.safetensors: tensor \"a\": data_offsets [1, 0] end before they begin"},
        Wrong{"SizeIsNotShapeTimesType", with(R"("dtype":"BF16","shape":[2,3],"data_offsets":[0,8])"), 8,
              "x.safetensors: tensor \"a\": BF16 [2, 3] takes 12 bytes, data_offsets [0, 8] span 8"},
        Wrong{"OutOfTheFile", with(R"("dtype":"U8","shape":[9],"data_offsets":[0,9])"), 8,
              "x.safetensors: tensor \"a\" ends at byte 9 after a header of 61, the file has 69 bytes: it is "
              "cut short or the header is damaged, "
              "download it again"},
        Wrong{"FarOutOfTheFile",
              with(R"("dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615])"),
              0,
              "x.safetensors: tensor \"a\" begins at 18446744073709551614, expected 0: the bytes between "
              "belong to no tensor"},
        Wrong{"HoleAtTheStart", with(R"("dtype":"U8","shape":[4],"data_offsets":[4,8])"), 8,
              "x.safetensors: tensor \"a\" begins at 4, expected 0: the bytes between belong to no tensor"},
        Wrong{"BytesAtTheEnd", with(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), 5,
              "x.safetensors: the tensors end at byte 65, the file has 66: 1 bytes too many, download it "
              "again"},
        Wrong{"BytesAndNoTensor", "{}", 1,
              "x.safetensors: the tensors end at byte 10, the file has 11: 1 bytes too many, download it "
              "again"},
        Wrong{"FieldTwice", with(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])"), 1,
              "x.safetensors: tensor \"a\": dtype is there twice"},
        Wrong{
            "NameTwice",
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
            1, "x.safetensors: the header names \"a\" twice"},
        Wrong{"NameEmpty", R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
              "x.safetensors: tensor \"\": the name is empty"},
        Wrong{"NameWithZero", R"({"a\u0000b\n":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
              "x.safetensors: tensor \"a\\x00b\\x0a\": the name holds a zero byte"},
        Wrong{
            "Overlap",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
            7, "x.safetensors: tensor \"b\" at [3, 7] overlaps tensor \"a\" at [0, 4]"},
        Wrong{
            "SameRange",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4, "x.safetensors: tensor \"b\" at [0, 4] overlaps tensor \"a\" at [0, 4]"},
        Wrong{
            "InsideAnother",
            R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4, "x.safetensors: tensor \"b\" at [1, 3] overlaps tensor \"a\" at [0, 4]"},
        Wrong{
            "HoleBetween",
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})",
            4, "x.safetensors: tensor \"b\" begins at 3, expected 1: the bytes between belong to no tensor"},
        Wrong{"MetadataIsList", R"({"__metadata__":["pt"]})", 0,
              "x.safetensors: __metadata__ is not an object of texts"},
        Wrong{"MetadataHoldsANumber", R"({"__metadata__":{"n":1}})", 0,
              "x.safetensors: __metadata__ \"n\" is not a text"}),
    [](const testing::TestParamInfo<Wrong>& row) { return std::string(row.param.title); });

TEST(SafetensorsLength, IsCheckedBeforeAnythingIsRead) {
  const auto length = [](std::uint64_t value, std::size_t bytes_after) {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(value >> (8 * i) & 0xff);
    return file + std::string(bytes_after, ' ');
  };
  EXPECT_THAT(faults_of(""), ElementsAre("x.safetensors: the file has 0 bytes, a safetensors file starts "
                                         "with 8 of header length: download it again"));
  EXPECT_THAT(faults_of("1234567"), ElementsAre("x.safetensors: the file has 7 bytes, a safetensors file "
                                                "starts with 8 of header length: download it again"));
  EXPECT_THAT(faults_of(length(101, 100)),
              ElementsAre("x.safetensors: declares a header of 101 bytes, the file has 100 after its first "
                          "8: it is cut short, download it again"));
  EXPECT_THAT(faults_of(length(100'000'000, 100)),
              ElementsAre("x.safetensors: declares a header of 100000000 bytes, the file has 100 after its "
                          "first 8: it is cut short, download it again"));
  EXPECT_THAT(faults_of(length(100'000'001, 100)),
              ElementsAre("x.safetensors: declares a header of 100000001 bytes, the format allows 100000000: "
                          "it is damaged or no safetensors file"));
  EXPECT_THAT(faults_of(length(~std::uint64_t{0}, 0)),
              ElementsAre("x.safetensors: declares a header of 18446744073709551615 bytes, the format allows "
                          "100000000: it is damaged or no safetensors file"));
  EXPECT_THAT(
      faults_of("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"),
      ElementsAre(
          "x.safetensors: is a Git LFS pointer, not the file it stands for: fetch it with `git lfs pull`"));
}

// Files cut at every byte: only the whole file, and the one that ends exactly after its header, are accepted.
TEST(SafetensorsTruncation, IsSeenAtEveryByte) {
  const std::string json = test::json_of({test::bf16("first"), {"second", "F32", "[]", 4}});
  const std::string whole = file_of(json, 12);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::vector<std::string> faults;
    const std::string cut = whole.substr(0, size);
    const SafetensorsHeader header = read_header(as_bytes(cut), "x", faults);
    if (size == whole.size()) {
      EXPECT_THAT(faults, IsEmpty());
      EXPECT_TRUE(header.bytes_here);
    } else if (size == 8 + json.size()) {
      EXPECT_THAT(faults, IsEmpty());
      EXPECT_FALSE(header.bytes_here);
    } else {
      EXPECT_EQ(faults.size(), 1u) << "cut at " << size;
    }
  }
  EXPECT_THAT(faults_of(whole.substr(0, whole.size() - 1)),
              ElementsAre("x.safetensors: tensor \"second\" ends at byte 12 after a header of 127, the file "
                          "has 138 bytes: it is cut short or the "
                          "header is damaged, download it again"));
}

// The same with the header's length set to what is left, so that it is the JSON that is cut.
TEST(SafetensorsTruncation, OfTheJsonAlone) {
  const std::string json = test::json_of({test::bf16("first"), {"second", "F32", "[]", 4}});
  for (std::size_t size = 0; size < json.size(); ++size) {
    EXPECT_THAT(faults_of(file_of(json.substr(0, size), 12)),
                ElementsAre("x.safetensors: the header is not JSON: the file is damaged, download it again"))
        << "cut at " << size;
  }
}

TEST(SafetensorsHeader, ListsEveryFaultAndGoesOn) {
  const std::string json =
      R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
      R"("c":{"dtype":"U8","shape":[-1],"data_offsets":[3,4]}})";
  const std::string file = file_of(json, 4);
  std::vector<std::string> faults;
  const SafetensorsHeader header = read_header(as_bytes(file), "x", faults);
  EXPECT_THAT(faults,
              ElementsAre("x: tensor \"a\": dtype Q4 is not one of F32, BF16, F16, F8_E4M3, I32, I64, U8",
                          "x: tensor \"c\": shape[0] is not a whole number from 0 on"));
  ASSERT_EQ(header.tensors.size(), 1u);
  EXPECT_EQ(header.tensors[0].name, "b");
  EXPECT_TRUE(header.readable);
  EXPECT_FALSE(header.all_read);
}

std::vector<std::string> index_faults(const std::string& json) {
  std::vector<std::string> faults;
  read_index(as_bytes(json), "i.json", faults);
  return faults;
}

TEST(SafetensorsIndex, IsRead) {
  const std::string json =
      R"({"metadata":{"total_size":1},"weight_map":{"b":"2.safetensors","a":"1.safetensors"}})";
  std::vector<std::string> faults;
  const std::vector<IndexEntry> entries = read_index(as_bytes(json), "i.json", faults);
  EXPECT_THAT(faults, IsEmpty());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(entries[0].shard, "2.safetensors");
}

TEST(SafetensorsIndex, SaysWhatIsWrong) {
  EXPECT_THAT(index_faults(""),
              ElementsAre("i.json: the index is not JSON: the file is damaged, download it again"));
  EXPECT_THAT(index_faults("{\"weight_map\":{}"),
              ElementsAre("i.json: the index is not JSON: the file is damaged, download it again"));
  EXPECT_THAT(index_faults("\"\xc3\x28\""),
              ElementsAre("i.json: the index is not UTF-8: the file is damaged, download it again"));
  EXPECT_THAT(index_faults("[]"), ElementsAre("i.json: the index is JSON, but not an object"));
  EXPECT_THAT(
      index_faults("{}"),
      ElementsAre("i.json: weight_map is missing, expected an object from tensor names to file names"));
  EXPECT_THAT(
      index_faults(R"({"weight_map":[]})"),
      ElementsAre("i.json: weight_map is no object, expected an object from tensor names to file names"));
  EXPECT_THAT(index_faults(R"({"weight_map":{},"weight_map":{}})"),
              ElementsAre("i.json: weight_map is there twice"));
  EXPECT_THAT(index_faults(R"({"weight_map":{"a":1,"b":"x","":"x","b":"x","c\u0000":"x"}})"),
              ElementsAre("i.json: tensor \"a\": expected a file name",
                          "i.json: tensor \"\": the name is empty", "i.json: weight_map names \"b\" twice",
                          "i.json: tensor \"c\\x00\": the name holds a zero byte"));
  for (const char* file : {"", ".", "..", "../x", "a/b", "/etc/passwd", "..\\\\x", "a\\u0000b"}) {
    const std::string json = std::string(R"({"weight_map":{"a":")") + file + "\"}}";
    ASSERT_EQ(index_faults(json).size(), 1u) << file;
  }
  EXPECT_THAT(
      index_faults(R"({"weight_map":{"a":"../x.safetensors"}})"),
      ElementsAre("i.json: tensor \"a\": \"../x.safetensors\" is not the name of a file beside the index"));
}

}  // namespace
}  // namespace redline::checkpoint
