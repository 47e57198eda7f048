// What read_config accepts, and the whole sentence for each thing that it refuses: the path of the field,
// what was found and what was expected.
#include "model/qwen3_5/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace redline::model::qwen3_5 {
namespace {

using testing::ElementsAre;

// Numbers of no published size, each another one, so that no field can stand in for its neighbour.
constexpr std::string_view kDense = R"({
  "architectures": ["Qwen3_5ForConditionalGeneration"],
  "text_config": {
    "num_hidden_layers": 4, "hidden_size": 640, "vocab_size": 1000, "max_position_embeddings": 4096,
    "full_attention_interval": 4, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 256,
    "rope_parameters": {"rope_theta": 5000000, "rope_type": "default", "partial_rotary_factor": 0.25},
    "linear_num_key_heads": 3, "linear_num_value_heads": 9, "linear_key_head_dim": 32,
    "linear_value_head_dim": 48, "linear_conv_kernel_dim": 5, "intermediate_size": 1920,
    "mtp_num_hidden_layers": 1
  }
})";

constexpr std::string_view kMoe = R"({
  "architectures": ["Qwen3_5MoeForCausalLM"],
  "num_hidden_layers": 2, "hidden_size": 640, "vocab_size": 1000, "max_position_embeddings": 4096,
  "layer_types": ["linear_attention", "full_attention"],
  "num_attention_heads": 6, "num_key_value_heads": 2, "rope_theta": 10000000,
  "linear_num_key_heads": 3, "linear_num_value_heads": 9, "linear_key_head_dim": 32,
  "linear_value_head_dim": 48, "linear_conv_kernel_dim": 4,
  "num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 96,
  "shared_expert_intermediate_size": 112
})";

std::string with(std::string_view json, std::string_view before, std::string_view after) {
  std::string text(json);
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  EXPECT_EQ(text.find(before, at + 1), std::string::npos) << before;
  return at == std::string::npos ? text : text.replace(at, before.size(), after);
}

Config read(std::string_view json) { return read_config(checkpoint::parse_config(json, "config.json")); }

// "kind: sentence"; "" where nothing is refused.
std::string refusal(std::string_view json) {
  try {
    read(json);
  } catch (const Error& error) {
    return fmt::format("{}: {}", exit_code_of(error.kind()), error.what());
  }
  return {};
}

std::string refusal(std::string_view json, std::string_view before, std::string_view after) {
  return refusal(with(json, before, after));
}

TEST(Config, OfANestedDenseModel) {
  const Config config = read(kDense);
  EXPECT_EQ(config.architecture, "qwen3_5");
  EXPECT_EQ(config.layers, 4);
  EXPECT_EQ(config.hidden, 640);
  EXPECT_EQ(config.vocabulary, 1000);
  EXPECT_EQ(config.positions, 4096);
  EXPECT_THAT(config.mixers,
              ElementsAre(Mixer::DeltaNet, Mixer::DeltaNet, Mixer::DeltaNet, Mixer::Attention));
  EXPECT_EQ(config.query_heads, 6);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.rope.theta, 5e6);
  EXPECT_EQ(config.rope.dimensions, 64);
  EXPECT_THAT(config.rope.sections, ElementsAre(11, 11, 10));
  EXPECT_FALSE(config.rope.yarn);
  EXPECT_EQ(config.key_heads, 3);
  EXPECT_EQ(config.value_heads, 9);
  EXPECT_EQ(config.key_head_dim, 32);
  EXPECT_EQ(config.value_head_dim, 48);
  EXPECT_EQ(config.conv_taps, 5);
  EXPECT_EQ(config.conv_channels(), 2 * 3 * 32 + 9 * 48);
  EXPECT_EQ(config.dense_width, 1920);
  EXPECT_FALSE(config.moe);
  EXPECT_EQ(config.mtp_layers, 1);
  EXPECT_FALSE(config.tied_head);
}

TEST(Config, OfAFlatMixtureOfExperts) {
  const Config config = read(kMoe);
  EXPECT_EQ(config.architecture, "qwen3_5_moe");
  EXPECT_THAT(config.mixers, ElementsAre(Mixer::DeltaNet, Mixer::Attention));
  EXPECT_EQ(config.attention_layers(), 1);
  EXPECT_EQ(config.head_dim, 256);
  ASSERT_TRUE(config.moe);
  EXPECT_EQ(config.moe->experts, 16);
  EXPECT_EQ(config.moe->chosen, 4);
  EXPECT_EQ(config.moe->expert_width, 96);
  EXPECT_EQ(config.moe->shared_width, 112);
  EXPECT_EQ(config.mtp_layers, 0);
}

TEST(Config, TakesTheLevelThatTiesTheHead) {
  EXPECT_TRUE(read(with(kDense, R"("text_config": {)", R"("tie_word_embeddings": true, "text_config": {)"))
                  .tied_head);
  EXPECT_TRUE(
      read(with(kDense, R"("text_config": {)", R"("text_config": {"tie_word_embeddings": true,)")).tied_head);
}

TEST(Config, NamesTheArchitecturesThatAreKnown) {
  constexpr std::string_view kKnown =
      "Qwen3_5ForConditionalGeneration, Qwen3_5MoeForConditionalGeneration, Qwen3_5ForCausalLM, "
      "Qwen3_5MoeForCausalLM";
  EXPECT_EQ(
      refusal(R"({"architectures": ["LlamaForCausalLM"]})"),
      fmt::format(
          "2: config.json: architectures: the architecture \"LlamaForCausalLM\" is not known; known are {}",
          kKnown));
  EXPECT_EQ(
      refusal(R"({"architectures": ["Qwen3_5ForCausalLM", "B"]})"),
      fmt::format("2: config.json: architectures: expected one architecture, found 2; known are {}", kKnown));
  EXPECT_EQ(
      refusal(R"({"model_type": "llama"})"),
      fmt::format(
          "2: config.json: model_type: the model type \"llama\" is not known; known architectures are {}",
          kKnown));
  EXPECT_EQ(
      refusal("{}"),
      fmt::format("2: config.json: neither architectures nor model_type is there; known architectures are {}",
                  kKnown));
  EXPECT_EQ(refusal(R"({"architectures": [7]})"),
            "3: config.json: architectures[0]: expected a text, found 7");
}

TEST(Config, SaysWhereAFieldIsMissing) {
  struct Case {
    std::string_view field, removed;
  };
  for (const Case& one : std::vector<Case>{
           {"num_hidden_layers", R"("num_hidden_layers": 4,)"},
           {"hidden_size", R"("hidden_size": 640,)"},
           {"vocab_size", R"("vocab_size": 1000,)"},
           {"max_position_embeddings", R"(, "max_position_embeddings": 4096)"},
           {"full_attention_interval", R"("full_attention_interval": 4,)"},
           {"num_attention_heads", R"("num_attention_heads": 6,)"},
           {"num_key_value_heads", R"("num_key_value_heads": 2,)"},
           {"linear_num_key_heads", R"("linear_num_key_heads": 3,)"},
           {"linear_num_value_heads", R"("linear_num_value_heads": 9,)"},
           {"linear_key_head_dim", R"(, "linear_key_head_dim": 32)"},
           {"linear_value_head_dim", R"("linear_value_head_dim": 48,)"},
           {"linear_conv_kernel_dim", R"("linear_conv_kernel_dim": 5,)"},
           {"intermediate_size", R"(, "intermediate_size": 1920)"},
           {"rope_parameters.rope_theta", R"("rope_theta": 5000000,)"},
       }) {
    EXPECT_EQ(refusal(kDense, one.removed, ""),
              fmt::format("3: config.json: text_config.{} is missing", one.field));
  }
  // A flat file has no text_config to speak of; null counts as missing.
  EXPECT_EQ(refusal(kMoe, R"("hidden_size": 640,)", ""), "3: config.json: hidden_size is missing");
  EXPECT_EQ(refusal(kMoe, R"("hidden_size": 640)", R"("hidden_size": null)"),
            "3: config.json: hidden_size is missing");
  EXPECT_EQ(refusal(kMoe, R"("rope_theta": 10000000,)", ""), "3: config.json: rope_theta is missing");
  for (const char* field :
       {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size"}) {
    EXPECT_EQ(refusal(kMoe, fmt::format("\"{}\":", field), R"("something_else":)"),
              fmt::format("3: config.json: {} is missing", field));
  }
}

TEST(Config, SaysWhichTypeWasFound) {
  const auto hidden = [](std::string_view value) {
    return refusal(kDense, R"("hidden_size": 640)", fmt::format("\"hidden_size\": {}", value));
  };
  constexpr std::string_view kExpected =
      "3: config.json: text_config.hidden_size: expected an integer from 1 to 131072, found";
  EXPECT_EQ(hidden(R"("640")"), fmt::format("{} \"640\"", kExpected));
  EXPECT_EQ(hidden("640.5"), fmt::format("{} 640.5", kExpected));
  EXPECT_EQ(hidden("true"), fmt::format("{} true", kExpected));
  EXPECT_EQ(hidden("[640]"), fmt::format("{} an array of 1", kExpected));
  EXPECT_EQ(hidden("{}"), fmt::format("{} an object of 0 fields", kExpected));
  EXPECT_EQ(hidden("640.0"), "");  // some exporters write whole numbers so
  EXPECT_EQ(refusal(kDense, R"("rope_theta": 5000000)", R"("rope_theta": "big")"),
            "3: config.json: text_config.rope_parameters.rope_theta: expected a number, found \"big\"");
  EXPECT_EQ(refusal(kMoe, R"(["linear_attention", "full_attention"])", "2"),
            "3: config.json: layer_types: expected an array, found 2");
  EXPECT_EQ(refusal(R"({"architectures": ["Qwen3_5ForCausalLM"], "text_config": 3})"),
            "3: config.json: text_config: expected an object, found 3");
}

TEST(Config, SaysTheLimits) {
  const auto layers = [](std::string_view value) {
    return refusal(kDense, R"("num_hidden_layers": 4)", fmt::format("\"num_hidden_layers\": {}", value));
  };
  EXPECT_EQ(layers("0"),
            "3: config.json: text_config.num_hidden_layers: expected an integer from 1 to 1024, found 0");
  EXPECT_EQ(layers("-4"),
            "3: config.json: text_config.num_hidden_layers: expected an integer from 1 to 1024, found -4");
  EXPECT_EQ(layers("1025"),
            "3: config.json: text_config.num_hidden_layers: expected an integer from 1 to 1024, found 1025");
  EXPECT_EQ(layers("1024"), "");
  EXPECT_EQ(refusal(kDense, R"("mtp_num_hidden_layers": 1)", R"("mtp_num_hidden_layers": 17)"),
            "3: config.json: text_config.mtp_num_hidden_layers: expected an integer from 0 to 16, found 17");
  EXPECT_EQ(refusal(kDense, R"("mtp_num_hidden_layers": 1)", R"("rms_norm_eps": 1)"),
            "3: config.json: text_config.rms_norm_eps: expected a number between 0 and 1, found 1");
  EXPECT_EQ(refusal(kDense, R"("rope_theta": 5000000)", R"("rope_theta": 1)"),
            "3: config.json: text_config.rope_parameters.rope_theta: expected a number above 1, found 1");
  // 1024 layers of 1024 experts are 2^20, the most; one expert more is not allowed. Either alone would be.
  const std::string deep =
      with(with(kMoe, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 1024)"),
           R"("layer_types": ["linear_attention", "full_attention"])", R"("full_attention_interval": 4)");
  EXPECT_EQ(refusal(deep, R"("num_experts": 16)", R"("num_experts": 1024)"), "");
  EXPECT_EQ(refusal(deep, R"("num_experts": 16)", R"("num_experts": 1025)"),
            "3: config.json: 1024 layers of 1025 experts (num_hidden_layers, num_experts) are more than the "
            "1048576 "
            "that are allowed");
}

TEST(Config, HoldsLayerTypesAgainstTheLayers) {
  constexpr std::string_view kTypes = R"(["linear_attention", "full_attention"])";
  EXPECT_EQ(refusal(kMoe, kTypes, R"(["linear_attention"])"),
            "3: config.json: layer_types: expected 2 entries (num_hidden_layers), found 1");
  EXPECT_EQ(refusal(kMoe, kTypes, R"(["linear_attention", "full_attention", "full_attention"])"),
            "3: config.json: layer_types: expected 2 entries (num_hidden_layers), found 3");
  EXPECT_EQ(refusal(kMoe, kTypes, R"(["linear_attention", "sliding_attention"])"),
            "3: config.json: layer_types[1]: expected \"linear_attention\" or \"full_attention\", found "
            "\"sliding_attention\"");
}

TEST(Config, HoldsNumbersAgainstEachOther) {
  EXPECT_EQ(
      refusal(kDense, R"("linear_num_value_heads": 9)", R"("linear_num_value_heads": 8)"),
      "3: config.json: linear_num_value_heads is 8, expected a multiple of linear_num_key_heads, which is 3");
  EXPECT_EQ(
      refusal(kDense, R"("num_attention_heads": 6)", R"("num_attention_heads": 5)"),
      "3: config.json: num_attention_heads is 5, expected a multiple of num_key_value_heads, which is 2");
  EXPECT_EQ(refusal(kMoe, R"("num_experts_per_tok": 4)", R"("num_experts_per_tok": 17)"),
            "3: config.json: num_experts_per_tok is 17, expected at most num_experts, which is 16");
  EXPECT_EQ(refusal(kMoe, R"("num_experts_per_tok": 4)", R"("num_experts_per_tok": 16)"), "");
}

TEST(Config, RopeOfKnownKindsOnly) {
  const auto rope = [](std::string_view fields) {
    return refusal(kDense, R"("rope_type": "default")", fields);
  };
  EXPECT_EQ(rope(R"("rope_type": "linear")"),
            "4: config.json: text_config.rope_parameters.rope_type: only \"default\" and \"yarn\" are "
            "supported, found "
            "\"linear\"");
  EXPECT_EQ(
      rope(R"("type": "dynamic")"),
      "4: config.json: text_config.rope_parameters.type: only \"default\" and \"yarn\" are supported, found "
      "\"dynamic\"");
  EXPECT_EQ(rope(R"("type": "mrope")"), "");
  EXPECT_EQ(
      rope(R"("mrope_section": [11, 11, 11])"),
      "3: config.json: text_config.rope_parameters.mrope_section: expected sizes that sum to 32 (half of the "
      "rotary elements), found 33");
  EXPECT_EQ(rope(R"("mrope_section": [32])"),
            "3: config.json: text_config.rope_parameters.mrope_section: expected 3 sizes, found 1");
  const auto part = [](std::string_view value) {
    return refusal(kDense, R"("partial_rotary_factor": 0.25)",
                   fmt::format("\"partial_rotary_factor\": {}", value));
  };
  EXPECT_EQ(part("1.5"),
            "3: config.json: text_config.rope_parameters.partial_rotary_factor: expected a number above 0 "
            "and up to 1, "
            "found 1.5");
  // 0.01 of 256 elements are 2, 0.015 are 3.
  EXPECT_EQ(part("0.01"), "");
  EXPECT_EQ(
      part("0.015"),
      "3: config.json: partial_rotary_factor 0.015 of head_dim 256 gives 3 rotary elements, expected an even "
      "number of at least 2");
}

TEST(Config, Yarn) {
  const auto yarn = [](std::string_view fields) {
    return with(kDense, R"("rope_type": "default")", fmt::format(R"("rope_type": "yarn"{})", fields));
  };
  const Config config = read(yarn(R"(, "factor": 4.0, "original_max_position_embeddings": 262144)"));
  EXPECT_TRUE(config.rope.yarn);
  EXPECT_EQ(config.rope.yarn_factor, 4);
  EXPECT_EQ(config.rope.yarn_original_positions, 262144);
  EXPECT_EQ(refusal(yarn("")), "3: config.json: text_config.rope_parameters.factor is missing");
  EXPECT_EQ(refusal(yarn(R"(, "factor": 4)")),
            "3: config.json: text_config.rope_parameters.original_max_position_embeddings is missing");
  EXPECT_EQ(
      refusal(yarn(R"(, "factor": 0.5, "original_max_position_embeddings": 262144)")),
      "3: config.json: text_config.rope_parameters.factor: expected a number from 1 to 1024, found 0.5");
}

TEST(Config, RefusesVariantsThatNobodyPublishes) {
  const auto added = [](std::string_view field) {
    return refusal(kDense, R"("mtp_num_hidden_layers": 1)", field);
  };
  EXPECT_EQ(added(R"("attention_bias": true)"),
            "4: config.json: text_config.attention_bias: only false is supported, found true");
  EXPECT_EQ(added(R"("attn_output_gate": false)"),
            "4: config.json: text_config.attn_output_gate: only true is supported, found false");
  EXPECT_EQ(added(R"("mtp_use_dedicated_embeddings": true)"),
            "4: config.json: text_config.mtp_use_dedicated_embeddings: only false is supported, found true");
  EXPECT_EQ(added(R"("norm_topk_prob": false)"),
            "4: config.json: text_config.norm_topk_prob: only true is supported, found false");
  EXPECT_EQ(added(R"("hidden_act": "gelu")"),
            "4: config.json: text_config.hidden_act: only \"silu\" is supported, found \"gelu\"");
  EXPECT_EQ(
      added(R"("mlp_only_layers": [1])"),
      "4: config.json: text_config.mlp_only_layers: only an empty list is supported, found an array of 1");
  EXPECT_EQ(added(R"("decoder_sparse_step": 2)"),
            "4: config.json: text_config.decoder_sparse_step: only 1 is supported, found 2");
}

TEST(Config, ReadsTheVisionTower) {
  constexpr std::string_view kVision =
      R"("vision_config": {"depth": 3, "hidden_size": 128, "intermediate_size": 256, "num_position_embeddings": 64, "out_hidden_size": 640}, "text_config": {)";
  const std::string json = with(kDense, R"("text_config": {)", kVision);
  const Config config = read(json);
  ASSERT_TRUE(config.vision);
  EXPECT_EQ(config.vision->depth, 3);
  EXPECT_EQ(config.vision->width, 256);
  EXPECT_EQ(config.vision->patch, 16);
  EXPECT_EQ(refusal(json, R"("depth": 3, )", ""), "3: config.json: vision_config.depth is missing");
}

}  // namespace
}  // namespace redline::model::qwen3_5
