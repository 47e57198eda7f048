// What configs declare, on published files where they are at hand and on small ones in each publisher's
// words.
#include "checkpoint/quantization_config.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/paths.hpp"

namespace redline::checkpoint {
namespace {

using quant::Format;

QuantizationConfig read(std::string_view json, const char* hf = nullptr) {
  std::optional<ConfigValue> other;
  if (hf != nullptr) other = parse_config(hf, "hf_quant_config.json");
  return QuantizationConfig::read(parse_config(json, "config.json"), other);
}

std::string text_of(std::optional<Format> format) { return format ? quant::name_of(*format) : "nothing"; }

struct Expected {
  const char* module;
  Format format;
};
void expect(const QuantizationConfig& config, std::initializer_list<Expected> rows) {
  for (const Expected& row : rows)
    EXPECT_EQ(text_of(config.declared(row.module)), quant::name_of(row.format)) << row.module;
}

QuantizationConfig published(const std::string& name) {
  const std::filesystem::path folder = *test::real_data_dir() / "configs";
  return QuantizationConfig::read(read_config_file(folder / (name + "_config.json")),
                                  read_config_file(folder / (name + "_hf_quant_config.json")));
}

class Published : public testing::Test {
  void SetUp() override {
    if (!test::real_data_dir()) GTEST_SKIP() << "REDLINE_REAL_DATA is not set";
  }
};

TEST_F(Published, Nvfp4Of397BIsOfRoutedExpertsOnly) {
  const QuantizationConfig config = published("nvidia--Qwen3.5-397B-A17B-NVFP4");
  EXPECT_EQ(config.method(), "modelopt");
  EXPECT_EQ(config.algorithm(), "NVFP4");
  EXPECT_EQ(config.ignored_entries(), 184U);
  EXPECT_TRUE(config.declares_fp8_kv());
  EXPECT_EQ(config.kv_source(), "nvidia--Qwen3.5-397B-A17B-NVFP4_config.json");
  EXPECT_TRUE(config.notes().empty());
  for (int layer = 0; layer < 60; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    expect(config, {{(prefix + "mlp.experts.511.down_proj").c_str(), Format::Nvfp4},
                    {(prefix + "mlp.shared_expert.up_proj").c_str(), Format::Bf16},
                    {(prefix + "mlp.shared_expert_gate").c_str(), Format::Bf16},
                    {(prefix + "mlp.gate").c_str(), Format::Bf16}});  // not in the list, and yet
    const std::string mixer =
        prefix + ((layer + 1) % 4 == 0 ? "self_attn.q_proj" : "linear_attn.in_proj_qkv");
    expect(config, {{mixer.c_str(), Format::Bf16}});
  }
  expect(config, {{"lm_head", Format::Bf16},
                  {"mtp.fc", Format::Bf16},  // not in the list either
                  {"mtp.layers.0.mlp.experts.3.gate_proj", Format::Bf16},
                  {"model.embed_tokens", Format::Bf16}});
}

TEST_F(Published, Mixed35BNamesEveryModule) {
  const QuantizationConfig config = published("nvidia--Qwen3.6-35B-A3B-NVFP4");
  EXPECT_EQ(config.algorithm(), "MIXED_PRECISION");
  EXPECT_EQ(config.ignored_entries(), 2U);
  EXPECT_EQ(config.kv_source(),
            "nvidia--Qwen3.6-35B-A3B-NVFP4_hf_quant_config.json");  // config.json has no kv_cache_scheme
  for (int layer = 0; layer < 40; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    expect(config, {{(prefix + "mlp.experts.255.up_proj").c_str(), Format::Nvfp4},
                    {(prefix + "mlp.shared_expert.down_proj").c_str(), Format::Nvfp4},
                    {(prefix + "mlp.gate").c_str(), Format::Bf16},
                    {(prefix + "mlp.shared_expert_gate").c_str(), Format::Bf16}});
    if ((layer + 1) % 4 == 0) {
      expect(config, {{(prefix + "self_attn.o_proj").c_str(), Format::Fp8Tensor}});
    } else {
      expect(config, {{(prefix + "linear_attn.out_proj").c_str(), Format::Fp8Tensor},
                      {(prefix + "linear_attn.in_proj_a").c_str(), Format::Bf16}});
    }
  }
  expect(config, {{"lm_head", Format::Nvfp4},
                  {"mtp.layers.0.mlp.experts.gate_up_proj", Format::Bf16},
                  {"mtp.fc", Format::Bf16}});
}

TEST_F(Published, TheToolsOwnFileSaysTheSame) {
  for (const char* name : {"nvidia--Qwen3.5-397B-A17B-NVFP4", "nvidia--Qwen3.6-35B-A3B-NVFP4"}) {
    const QuantizationConfig both = published(name);
    const QuantizationConfig alone = QuantizationConfig::read(
        parse_config("{}", "config.json"),
        read_config_file(*test::real_data_dir() / "configs" / (std::string(name) + "_hf_quant_config.json")));
    EXPECT_EQ(alone.source(), std::string(name) + "_hf_quant_config.json");
    for (const char* module :
         {"lm_head", "model.layers.3.self_attn.q_proj", "model.layers.0.linear_attn.in_proj_z",
          "model.layers.7.mlp.experts.1.up_proj", "model.layers.7.mlp.shared_expert.up_proj"}) {
      EXPECT_EQ(text_of(alone.declared(module)), text_of(both.declared(module))) << name << " " << module;
    }
  }
}

TEST(QuantizationConfig, WithoutOneEverythingIsPlain) {
  const QuantizationConfig config = read("{}");
  EXPECT_EQ(config.source(), "");
  EXPECT_FALSE(config.declares_fp8_kv());
  expect(config, {{"lm_head", Format::Bf16}});
}

TEST(QuantizationConfig, OfficialFp8) {
  const QuantizationConfig config = read(R"({"quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
      "activation_scheme": "dynamic", "weight_block_size": [128, 128], "modules_to_not_convert": ["model.language_model.embed_tokens",
      "model.language_model.layers.3.mlp.gate", "model.language_model.layers.5.linear_attn", "visual"]}})");
  expect(config,
         {{"model.layers.3.self_attn.q_proj", Format::Fp8Block},
          {"model.layers.3.mlp.gate", Format::Bf16},
          {"model.layers.3.mlp.gate_proj", Format::Fp8Block},  // a longer name, not a part of the entry
          {"model.layers.5.linear_attn.out_proj", Format::Bf16},
          {"model.layers.6.linear_attn.out_proj", Format::Fp8Block},
          {"model.layers.0.mlp.experts.0.gate_proj", Format::Fp8Block},
          {"mtp.layers.0.mlp.experts.0.gate_proj", Format::Fp8Block},
          {"mtp.fc", Format::Bf16},
          {"lm_head", Format::Bf16}});
  EXPECT_EQ(
      text_of(
          read(R"({"quantization_config": {"quant_method": "fp8"}})").declared("model.layers.0.mlp.up_proj")),
      "FP8 per tensor");
}

TEST(QuantizationConfig, Fp8BlocksOfAnotherSizeAreNotUnderstood) {
  const QuantizationConfig config =
      read(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 64]}})");
  EXPECT_EQ(text_of(config.declared("model.layers.0.mlp.up_proj")), "nothing");
  ASSERT_EQ(config.notes().size(), 1U);
  EXPECT_EQ(config.notes()[0],
            "config.json: quantization_config.weight_block_size: blocks of 64 by 64 are not known (known: "
            "128 by 128); the tensors decide");
}

TEST(QuantizationConfig, ModelOptGroupsWithoutAMap) {
  const QuantizationConfig config =
      read(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
      "ignore": ["mtp*"], "config_groups": {
        "group_0": {"weights": {"num_bits": 8, "type": "float"}, "targets": ["model.language_model.layers.0.self_attn.q_proj"]},
        "group_1": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["lm_head", "model.language_model.layers.0.mlp.experts"]}}}})");
  expect(config, {{"model.layers.0.self_attn.q_proj", Format::Fp8Tensor},
                  {"model.layers.0.self_attn.k_proj", Format::Bf16},
                  {"model.layers.0.mlp.experts.9.up_proj", Format::Nvfp4},
                  {"lm_head", Format::Nvfp4}});
}

TEST(QuantizationConfig, CompressedTensorsWithExpressions) {
  const QuantizationConfig config = read(R"({"quantization_config": {"quant_method": "compressed-tensors",
      "format": "nvfp4-pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4,
      "type": "float", "strategy": "tensor_group", "group_size": 16}, "input_activations": {"num_bits": 4, "dynamic": "local"}}},
      "ignore": ["lm_head", "re:.*visual.*", "re:.*mlp.gate$", "re:.*linear_attn.*", "re:(?i)bad"], "kv_cache_scheme": null}})");
  expect(config, {{"model.layers.3.self_attn.q_proj", Format::Nvfp4},
                  {"model.layers.0.linear_attn.in_proj_qkv", Format::Bf16},
                  {"model.layers.3.mlp.gate", Format::Bf16},
                  {"model.layers.3.mlp.gate_proj", Format::Nvfp4},
                  {"lm_head", Format::Bf16}});
  EXPECT_FALSE(config.declares_fp8_kv());
  ASSERT_EQ(config.notes().size(), 1U);
  EXPECT_NE(config.notes()[0].find(
                "quantization_config.ignore[4]: the expression \"re:(?i)bad\" is not understood"),
            std::string::npos);
}

TEST(QuantizationConfig, CompressedTensorsMixed) {
  const QuantizationConfig config =
      read(R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "mixed-precision",
      "config_groups": {
        "group_0": {"targets": ["re:.*layers\\.([0-9]|[1-4][0-9]|5[0-5])\\.mlp\\.(gate|up|down)_proj$"],
                    "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}},
        "group_1": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
      "ignore": ["re:^mtp.*"], "kv_cache_scheme": {"num_bits": 8, "type": "float"}}})");
  expect(config, {{"model.layers.55.mlp.up_proj", Format::Nvfp4},
                  {"model.layers.56.mlp.up_proj", Format::Fp8Channel},
                  {"model.layers.3.self_attn.q_proj", Format::Fp8Channel},
                  {"mtp.layers.0.mlp.up_proj", Format::Bf16},
                  {"lm_head", Format::Fp8Channel}});
  EXPECT_TRUE(config.declares_fp8_kv());
}

TEST(QuantizationConfig, UnknownMethodsAndAlgorithmsSayNothing) {
  const QuantizationConfig method = read(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})");
  EXPECT_EQ(text_of(method.declared("lm_head")), "nothing");
  ASSERT_EQ(method.notes().size(), 1U);
  EXPECT_EQ(method.notes()[0],
            "config.json: quantization_config.quant_method: the method \"gptq\" is not known (known: fp8, "
            "modelopt, compressed-tensors); the tensors decide");
  const QuantizationConfig algorithm =
      read(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "INT4_AWQ"}})");
  EXPECT_EQ(text_of(algorithm.declared("model.layers.0.mlp.up_proj")), "nothing");
  EXPECT_EQ(algorithm.notes().size(), 1U);
}

TEST(QuantizationConfig, WrongTypesAreErrorsWithTheirPath) {
  const auto message = [](std::string_view json) -> std::string {
    try {
      read(json);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadCheckpoint);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(R"({"quantization_config": "fp8"})"),
            "config.json: quantization_config: expected an object, found \"fp8\"");
  EXPECT_EQ(message(R"({"quantization_config": {}})"),
            "config.json: quantization_config.quant_method is missing");
  EXPECT_EQ(message(R"({"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [1]}})"),
            "config.json: quantization_config.modules_to_not_convert[0]: expected a text, found 1");
  EXPECT_EQ(message(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}})"),
            "config.json: quantization_config.weight_block_size: expected two sizes, found 1");
}

}  // namespace
}  // namespace redline::checkpoint
