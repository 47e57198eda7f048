// Formats from tensors: one test for each row of docs/formats.md, then everything that contradicts it, with
// the sentence. Shapes follow from the formats' definitions (16 codes to an NVFP4 scale, 128x128 to a block).
#include "checkpoint/tensor_scheme.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/small_files.hpp"
#include "support/paths.hpp"

namespace redline::checkpoint {
namespace {

using quant::Format;
using test::error_of;
using test::TemporaryFolder;

using Declared = std::vector<Checkpoint::Declared>;

constexpr auto kU8 = DType::U8;
constexpr auto kF8 = DType::F8E4M3;
constexpr auto kF32 = DType::F32;
constexpr auto kBf16 = DType::BF16;

// A weight that find_weight gave, and the checkpoint that its pointers lead into.
struct Found {
  Checkpoint files;
  std::optional<Weight> weight;

  explicit Found(Declared tensors)
      : files(Checkpoint::synthetic("s", std::move(tensors))), weight(find_weight(files, "m.x")) {}
  const Weight* operator->() const { return &*weight; }
  static std::string name(const Tensor* tensor) { return tensor == nullptr ? "" : std::string(tensor->name); }
};

std::string refusal(Declared tensors, ErrorKind kind = ErrorKind::BadCheckpoint) {
  return error_of(kind, [&] { Found found(std::move(tensors)); });
}

TEST(FindWeight, None) {
  EXPECT_FALSE(Found({}).weight);
  EXPECT_FALSE(
      Found({{"m.x.bias", kBf16, {4}}, {"m.x.weight_scale", kF8, {4, 2}}, {"m.xx.weight", kBf16, {4, 4}}})
          .weight);
}

TEST(FindWeight, NotQuantised) {
  for (const auto& [dtype, format] :
       {std::pair(kBf16, Format::Bf16), std::pair(DType::F16, Format::F16), std::pair(kF32, Format::F32)}) {
    const Found found({{"m.x.weight", dtype, {6, 4}}});
    ASSERT_TRUE(found.weight);
    EXPECT_EQ(quant::format_of(found->scheme), format);
    EXPECT_EQ(found->scheme, (quant::Scheme{.element = dtype}));
    EXPECT_EQ(found->count, 1);
    EXPECT_EQ(found->rows, 6);
    EXPECT_EQ(found->columns, 4);
    EXPECT_EQ(Found::name(found->codes), "m.x.weight");
    EXPECT_EQ(found->scale, nullptr);
    EXPECT_EQ(found->tensor_scale, nullptr);
    EXPECT_EQ(found->input_scale, nullptr);
  }
}

TEST(FindWeight, FusedExperts) {
  const Found found({{"m.x", kBf16, {8, 6, 4}}});
  ASSERT_TRUE(found.weight);
  EXPECT_EQ(quant::format_of(found->scheme), Format::Bf16);
  EXPECT_EQ(found->count, 8);
  EXPECT_EQ(found->rows, 6);
  EXPECT_EQ(found->columns, 4);
  EXPECT_EQ(Found::name(found->codes), "m.x");
}

TEST(FindWeight, Nvfp4OfModelOpt) {
  for (const Shape& scalar : {Shape{}, Shape{1}}) {
    const Found found({{"m.x.weight", kU8, {5, 16}},
                       {"m.x.weight_scale", kF8, {5, 2}},
                       {"m.x.weight_scale_2", kF32, scalar}});
    ASSERT_TRUE(found.weight);
    EXPECT_EQ(found->scheme, (quant::Scheme{.element = DType::F4E2M1,
                                            .block_rows = 1,
                                            .block_columns = 16,
                                            .scale = kF8,
                                            .tensor_scale = true}));
    EXPECT_EQ(found->rows, 5);
    EXPECT_EQ(found->columns, 32);
    EXPECT_EQ(Found::name(found->codes), "m.x.weight");
    EXPECT_EQ(Found::name(found->scale), "m.x.weight_scale");
    EXPECT_EQ(Found::name(found->tensor_scale), "m.x.weight_scale_2");
    EXPECT_EQ(found->input_scale, nullptr);
  }
  const Found with_input({{"m.x.weight", kU8, {5, 16}},
                          {"m.x.weight_scale", kF8, {5, 2}},
                          {"m.x.weight_scale_2", kF32, {}},
                          {"m.x.input_scale", kF32, {}}});
  EXPECT_EQ(Found::name(with_input->input_scale), "m.x.input_scale");
}

TEST(FindWeight, Nvfp4OfCompressedTensors) {
  const Found found({{"m.x.weight_packed", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_global_scale", kF32, {1}},
                     {"m.x.input_global_scale", kF32, {1}}});
  ASSERT_TRUE(found.weight);
  EXPECT_EQ(found->scheme, (quant::Scheme{.element = DType::F4E2M1,
                                          .block_rows = 1,
                                          .block_columns = 16,
                                          .scale = kF8,
                                          .tensor_scale = true,
                                          .tensor_scale_divides = true}));
  EXPECT_EQ(found->columns, 32);
  EXPECT_EQ(Found::name(found->codes), "m.x.weight_packed");
  EXPECT_EQ(Found::name(found->tensor_scale), "m.x.weight_global_scale");
  EXPECT_EQ(Found::name(found->input_scale), "m.x.input_global_scale");
  EXPECT_EQ(Found({{"m.x.weight_packed", kU8, {5, 16}},
                   {"m.x.weight_scale", kF8, {5, 2}},
                   {"m.x.weight_global_scale", kF32, {}}})
                ->input_scale,
            nullptr);
}

TEST(FindWeight, Fp8PerTensor) {
  for (const Shape& scalar : {Shape{}, Shape{1}}) {
    const Found found(
        {{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kF32, scalar}, {"m.x.input_scale", kF32, scalar}});
    ASSERT_TRUE(found.weight);
    EXPECT_EQ(found->scheme, (quant::Scheme{.element = kF8, .tensor_scale = true}));
    EXPECT_EQ(quant::format_of(found->scheme), Format::Fp8Tensor);
    EXPECT_EQ(Found::name(found->tensor_scale), "m.x.weight_scale");
    EXPECT_EQ(found->scale, nullptr);
    EXPECT_EQ(Found::name(found->input_scale), "m.x.input_scale");
  }
}

TEST(FindWeight, Fp8PerChannel) {
  for (const DType dtype : {kBf16, kF32}) {
    const Found found({{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", dtype, {6, 1}}});
    ASSERT_TRUE(found.weight);
    EXPECT_EQ(found->scheme, (quant::Scheme{.element = kF8, .scale = dtype, .channel_scale = true}));
    EXPECT_EQ(quant::format_of(found->scheme), Format::Fp8Channel);
    EXPECT_EQ(Found::name(found->scale), "m.x.weight_scale");
    EXPECT_EQ(found->tensor_scale, nullptr);
  }
  EXPECT_TRUE(Found({{"m.x.weight", kF8, {1, 4}}, {"m.x.weight_scale", kBf16, {1, 1}}})
                  ->scheme.channel_scale);  // one row is a channel
}

TEST(FindWeight, Fp8InBlocks) {
  for (const DType dtype : {kBf16, kF32}) {
    const Found found({{"m.x.weight", kF8, {129, 256}}, {"m.x.weight_scale_inv", dtype, {2, 2}}});
    ASSERT_TRUE(found.weight);
    EXPECT_EQ(found->scheme,
              (quant::Scheme{.element = kF8, .block_rows = 128, .block_columns = 128, .scale = dtype}));
    EXPECT_EQ(quant::format_of(found->scheme), Format::Fp8Block);
    EXPECT_EQ(Found::name(found->scale), "m.x.weight_scale_inv");
  }
  EXPECT_TRUE(Found({{"m.x.weight", kF8, {1, 1}}, {"m.x.weight_scale_inv", kF32, {1, 1}}}).weight);
}

TEST(FindWeightRefuses, ShapesAndTypesOfScales) {
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 4}},
                     {"m.x.weight_scale_2", kF32, {}}}),
            "s: tensor \"m.x.weight_scale\": expected F8_E4M3 [5, 2], found F8_E4M3 [5, 4]");
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF32, {5, 2}},
                     {"m.x.weight_scale_2", kF32, {}}}),
            "s: tensor \"m.x.weight_scale\": expected F8_E4M3 [5, 2], found F32 [5, 2]");
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_scale_2", kF32, {5}}}),
            "s: tensor \"m.x.weight_scale_2\": expected F32 [] or [1], found F32 [5]");
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_scale_2", kBf16, {}}}),
            "s: tensor \"m.x.weight_scale_2\": expected F32 [] or [1], found BF16 []");
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_scale_2", kF32, {}},
                     {"m.x.input_scale", kF32, {2}}}),
            "s: tensor \"m.x.input_scale\": expected F32 [] or [1], found F32 [2]");
  EXPECT_EQ(refusal({{"m.x.weight_packed", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_global_scale", kF32, {1, 1}}}),
            "s: tensor \"m.x.weight_global_scale\": expected F32 [] or [1], found F32 [1, 1]");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {129, 256}}, {"m.x.weight_scale_inv", kBf16, {1, 2}}}),
            "s: tensor \"m.x.weight_scale_inv\": expected BF16 or F32 [2, 2], found BF16 [1, 2]");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {129, 256}}, {"m.x.weight_scale_inv", DType::F16, {2, 2}}}),
            "s: tensor \"m.x.weight_scale_inv\": expected BF16 or F32 [2, 2], found F16 [2, 2]");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kF32, {4, 1}}}),
            "s: tensor \"m.x.weight_scale\": expected BF16 or F32 [6, 1], found F32 [4, 1]");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kF32, {6}}}),
            "s: tensor \"m.x.weight_scale\": expected F32 [] or [1], found F32 [6]");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kBf16, {}}}),
            "s: tensor \"m.x.weight_scale\": expected F32 [] or [1], found BF16 []");
  EXPECT_EQ(
      refusal({{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kF32, {}}, {"m.x.input_scale", kBf16, {}}}),
      "s: tensor \"m.x.input_scale\": expected F32 [] or [1], found BF16 []");
}

TEST(FindWeightRefuses, CodesOfWrongShapeOrType) {
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 12}},
                     {"m.x.weight_scale", kF8, {5, 1}},
                     {"m.x.weight_scale_2", kF32, {}}}),
            "s: tensor \"m.x.weight\": U8 [5, 12] holds 24 codes a row, expected whole blocks of 16");
  EXPECT_EQ(refusal({{"m.x.weight", kBf16, {5}}}),
            "s: tensor \"m.x.weight\": expected a matrix [out, in], found BF16 [5]");
  EXPECT_EQ(refusal({{"m.x.weight", kBf16, {5, 1, 4}}}),
            "s: tensor \"m.x.weight\": expected a matrix [out, in], found BF16 [5, 1, 4]");
  EXPECT_EQ(refusal({{"m.x.weight", DType::I32, {5, 4}}}),
            "s: tensor \"m.x.weight\": expected BF16, F16, F32, F8_E4M3 or U8, found I32 [5, 4]");
  EXPECT_EQ(refusal({{"m.x.weight_packed", DType::I32, {5, 4}}, {"m.x.weight_scale", kBf16, {5, 1}}}),
            "s: tensor \"m.x.weight_packed\": expected U8 with two codes to a byte, found I32 [5, 4]");
  EXPECT_EQ(refusal({{"m.x.weight_packed", kU8, {5}}}),
            "s: tensor \"m.x.weight_packed\": expected a matrix [out, in], found U8 [5]");
  EXPECT_EQ(refusal({{"m.x", kBf16, {8, 4}}}),
            "s: tensor \"m.x\": expected BF16, F16 or F32 [experts, out, in], found BF16 [8, 4]");
  EXPECT_EQ(refusal({{"m.x", kF8, {8, 4, 4}}}),
            "s: tensor \"m.x\": expected BF16, F16 or F32 [experts, out, in], found F8_E4M3 [8, 4, 4]");
}

TEST(FindWeightRefuses, MissingScales) {
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}}}),
            "s: tensor \"m.x.weight\": U8 [5, 16] is NVFP4 of ModelOpt, which needs \"m.x.weight_scale\": "
            "that is missing");
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}}, {"m.x.weight_scale", kF8, {5, 2}}}),
            "s: tensor \"m.x.weight\": U8 [5, 16] is NVFP4 of ModelOpt, which needs \"m.x.weight_scale_2\": "
            "that is missing");
  EXPECT_EQ(refusal({{"m.x.weight_packed", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_scale_2", kF32, {}}}),
            "s: tensor \"m.x.weight_packed\": U8 [5, 16] is NVFP4 of compressed-tensors, which needs "
            "\"m.x.weight_global_scale\": that is missing");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {6, 4}}}),
            "s: tensor \"m.x.weight\": F8_E4M3 [6, 4] needs \"m.x.weight_scale\" or "
            "\"m.x.weight_scale_inv\": both are missing");
}

TEST(FindWeightRefuses, TensorsOfTwoFormats) {
  EXPECT_EQ(refusal({{"m.x.weight", kBf16, {5, 16}}, {"m.x.weight_packed", kU8, {5, 8}}}),
            "s: tensor \"m.x.weight_packed\": lies beside \"m.x.weight\": a weight has either, not both");
  for (const char* scale : {"weight_scale", "weight_scale_inv", "weight_scale_2", "weight_global_scale",
                            "input_scale", "input_global_scale"}) {
    EXPECT_EQ(refusal({{"m.x.weight", kBf16, {5, 16}}, {std::string("m.x.") + scale, kF32, {}}}),
              std::string("s: tensor \"m.x.weight\": BF16 [5, 16] is not quantised, which has no \"m.x.") +
                  scale + "\": that lies beside it");
  }
  EXPECT_EQ(refusal({{"m.x.weight", kU8, {5, 16}},
                     {"m.x.weight_scale", kF8, {5, 2}},
                     {"m.x.weight_scale_2", kF32, {}},
                     {"m.x.weight_global_scale", kF32, {}}}),
            "s: tensor \"m.x.weight\": U8 [5, 16] is NVFP4 of ModelOpt, which has no "
            "\"m.x.weight_global_scale\": that lies beside it");
  EXPECT_EQ(refusal({{"m.x.weight", kF8, {6, 4}},
                     {"m.x.weight_scale", kF32, {}},
                     {"m.x.weight_scale_inv", kF32, {1, 1}}}),
            "s: tensor \"m.x.weight\": F8_E4M3 [6, 4] is FP8 in blocks of 128x128, which has no "
            "\"m.x.weight_scale\": that lies beside it");
  EXPECT_EQ(
      refusal(
          {{"m.x.weight", kF8, {6, 4}}, {"m.x.weight_scale", kF32, {}}, {"m.x.weight_scale_2", kF32, {}}}),
      "s: tensor \"m.x.weight\": F8_E4M3 [6, 4] is FP8 with weight_scale, which has no "
      "\"m.x.weight_scale_2\": that lies beside it");
}

TEST(FindWeightRefuses, FusedAndQuantisedExperts) {
  EXPECT_EQ(
      refusal(
          {{"m.x", kU8, {8, 4, 8}}, {"m.x_weight_scale", kF8, {8, 4, 1}}, {"m.x_weight_scale_2", kF32, {8}}},
          ErrorKind::Unsupported),
      "s: tensor \"m.x\": experts fused in one tensor and quantised (\"m.x_weight_scale\" lies beside it) "
      "are not read; use a checkpoint with one "
      "tensor per expert");
  EXPECT_NE(refusal({{"m.x", kF8, {8, 4, 8}}, {"m.x_scale_inv", kF32, {8, 1, 1}}}, ErrorKind::Unsupported),
            "");
}

// With an index alone there are names and nothing else.
class NamesOnly : public testing::Test {
 protected:
  const Weight* find(const std::vector<std::string>& names) {
    const TemporaryFolder folder;
    folder.write("config.json", "{}");
    std::string map;
    for (const std::string& name : names)
      map += (map.empty() ? "\"m.x" : ",\"m.x") + name + R"(":"model-00001-of-00001.safetensors")";
    folder.write("model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
    files_.emplace(Checkpoint::open(folder.path()));
    weight_ = find_weight(*files_, "m.x");
    return weight_ ? &*weight_ : nullptr;
  }

 private:
  std::optional<Checkpoint> files_;
  std::optional<Weight> weight_;
};

TEST_F(NamesOnly, Decide) {
  const auto format = [&](const std::vector<std::string>& names) {
    return quant::format_of(find(names)->scheme);
  };
  EXPECT_EQ(format({".weight"}), Format::Bf16);
  EXPECT_EQ(format({""}), Format::Bf16);
  EXPECT_EQ(format({".weight", ".weight_scale", ".weight_scale_2"}), Format::Nvfp4);
  EXPECT_FALSE(find({".weight", ".weight_scale", ".weight_scale_2"})->scheme.tensor_scale_divides);
  EXPECT_EQ(format({".weight_packed", ".weight_scale", ".weight_global_scale"}), Format::Nvfp4);
  EXPECT_TRUE(find({".weight_packed", ".weight_scale", ".weight_global_scale"})->scheme.tensor_scale_divides);
  EXPECT_EQ(format({".weight", ".weight_scale_inv"}), Format::Fp8Block);
  EXPECT_EQ(format({".weight", ".weight_scale", ".input_scale"}), Format::Fp8Tensor);
  EXPECT_EQ(format({".weight", ".weight_scale"}), Format::Fp8Channel);
  EXPECT_EQ(find({".weight", ".weight_scale", ".input_scale"})->rows, 0);
  EXPECT_NE(find({".weight", ".weight_scale", ".input_scale"})->input_scale, nullptr);
  EXPECT_EQ(find({".bias"}), nullptr);
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint,
                     [&] {
                       find({".weight", ".weight_scale_2"});
                     }),
            "model-00001-of-00001.safetensors: tensor \"m.x.weight\": the names beside it mean NVFP4 of "
            "ModelOpt, which "
            "needs \"m.x.weight_scale\": that is missing");
}

// The names that messages show are those on disk, with the file they are in.
TEST(FindWeightRefuses, NamesTheFile) {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors",
               test::file_with({{"model.language_model.x.weight", "F8_E4M3", "[2,2]", 4},
                                {"model.language_model.x.weight_scale", "F32", "[2]", 8}}));
  const Checkpoint files = Checkpoint::open(folder.path());
  EXPECT_EQ(error_of(ErrorKind::BadCheckpoint, [&] { find_weight(files, "model.x"); }),
            "model.safetensors: tensor \"model.language_model.x.weight_scale\": expected F32 [] or [1], "
            "found F32 [2]");
}

// What the libraries wrote, and what their makers' own counts say is in it.
TEST(FindWeight, GoldenFilesHoldTheirFormats) {
  const auto golden = redline::test::golden_dir() / "checkpoints";
  const auto format = [&](const char* folder, const char* module) {
    const Checkpoint files = Checkpoint::open(golden / folder);
    const std::optional<Weight> weight = find_weight(files, module);
    return weight ? quant::name_of(quant::format_of(weight->scheme)) : "none";
  };
  EXPECT_STREQ(format("dense-bf16", "model.layers.0.mlp.up_proj"), "BF16");
  EXPECT_STREQ(format("moe-bf16", "model.layers.0.mlp.experts.gate_up_proj"), "BF16");
  EXPECT_STREQ(format("moe-fp8-block", "model.layers.0.mlp.experts.0.up_proj"), "FP8 128x128");
  EXPECT_STREQ(format("moe-nvfp4-experts", "model.layers.0.mlp.experts.0.up_proj"), "NVFP4");
  EXPECT_STREQ(format("dense-nvfp4-mixed", "model.layers.0.mlp.up_proj"), "NVFP4");
  EXPECT_STREQ(format("moe-ct-nvfp4", "model.layers.0.mlp.experts.0.up_proj"), "NVFP4");
}

}  // namespace
}  // namespace redline::checkpoint
