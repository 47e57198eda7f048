// Synthetic checkpoints: names that are not known, and that what is declared is what the model needs.
#include "model/qwen3_5/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/error.hpp"
#include "model/qwen3_5/take.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Tensor;
using testing::IsEmpty;

std::string refusal(std::string_view name) {
  try {
    make_synthetic(name);
  } catch (const Error& error) {
    return fmt::format("{}: {}", exit_code_of(error.kind()), error.what());
  }
  return {};
}

constexpr std::string_view kSizes =
    "qwen3.5-0.8b, qwen3.5-2b, qwen3.5-4b, qwen3.5-9b, qwen3.5-27b, qwen3.5-35b-a3b, qwen3.5-122b-a10b, "
    "qwen3.5-397b-a17b";

TEST(Synthetic, NamesTheSizesThatAreKnown) {
  EXPECT_EQ(refusal("synthetic:qwen9"),
            fmt::format("2: the size \"qwen9\" is not known; known are {}", kSizes));
  EXPECT_EQ(refusal("synthetic:"), fmt::format("2: the size \"\" is not known; known are {}", kSizes));
  EXPECT_EQ(refusal("synthetic:Qwen3.5-27B"),
            fmt::format("2: the size \"Qwen3.5-27B\" is not known; known are {}", kSizes));
  EXPECT_EQ(refusal("synthetic:qwen9@fp3"),
            fmt::format("2: the size \"qwen9\" is not known; known are {}", kSizes));
}

TEST(Synthetic, NamesThePrecisionsThatAreKnown) {
  EXPECT_EQ(refusal("synthetic:qwen3.5-27b@fp4"),
            "2: the precision \"fp4\" is not known; known are bf16, fp8, experts, mixed, nvfp4");
  EXPECT_EQ(refusal("synthetic:qwen3.5-27b@"),
            "2: the precision \"\" is not known; known are bf16, fp8, experts, mixed, nvfp4");
  EXPECT_EQ(refusal("synthetic:qwen3.5-27b@nvfp4@bf16"),
            "2: the precision \"nvfp4@bf16\" is not known; known are bf16, fp8, experts, mixed, nvfp4");
}

TEST(Synthetic, HasNoExpertsInADenseSize) {
  EXPECT_EQ(refusal("synthetic:qwen3.5-27b@experts"),
            "2: synthetic:qwen3.5-27b@experts: a dense size has no routed experts to quantise; use bf16, "
            "fp8, mixed or "
            "nvfp4");
  EXPECT_EQ(refusal("synthetic:qwen3.5-35b-a3b@experts"), "");
}

TEST(Synthetic, IsBf16UnlessSaid) {
  const Synthetic made = make_synthetic("synthetic:qwen3.5-0.8b");
  EXPECT_EQ(made.precision, Precision::Bf16);
  EXPECT_EQ(made.files.name(), "synthetic:qwen3.5-0.8b");
  EXPECT_EQ(made.files.bytes(), checkpoint::Bytes::Synthetic);
}

// The type of a module's codes, and what lies beside them.
struct Stored {
  DType dtype;
  std::set<std::string_view> suffixes;
  bool operator==(const Stored&) const = default;
};
Stored stored(const Synthetic& made, const std::string& module) {
  Stored found{DType::I64, {}};
  for (const Tensor& tensor : made.files.tensors()) {
    if (!tensor.name.starts_with(module + ".")) continue;
    found.suffixes.insert(tensor.name.substr(module.size() + 1));
    if (tensor.name == module + ".weight") found.dtype = tensor.dtype;
  }
  return found;
}
const Stored kBf16{DType::BF16, {"weight"}};
const Stored kFp8Block{DType::F8E4M3, {"weight", "weight_scale_inv"}};
const Stored kFp8Tensor{DType::F8E4M3, {"weight", "weight_scale", "input_scale"}};
const Stored kNvfp4{DType::U8, {"weight", "weight_scale", "weight_scale_2", "input_scale"}};
const Stored kAbsent{DType::I64, {}};

// The table of precisions in the list of commands, row by row.
TEST(Synthetic, StoresEachGroupAsItsPrecisionSays) {
  struct Row {
    std::string_view precision;
    Stored attention, delta_net, expert, shared, head, mtp_attention;
  };
  for (const Row& row : {
           Row{"bf16", kBf16, kBf16, kAbsent, kBf16, kBf16, kBf16},  // the experts of a BF16 file are fused
           Row{"fp8", kFp8Block, kFp8Block, kFp8Block, kFp8Block, kBf16, kFp8Block},
           Row{"experts", kBf16, kBf16, kNvfp4, kBf16, kBf16, kBf16},
           Row{"mixed", kFp8Tensor, kFp8Tensor, kNvfp4, kNvfp4, kNvfp4, kBf16},
           Row{"nvfp4", kNvfp4, kNvfp4, kNvfp4, kNvfp4, kNvfp4, kBf16},
       }) {
    const Synthetic made = make_synthetic(fmt::format("synthetic:qwen3.5-35b-a3b@{}", row.precision));
    SCOPED_TRACE(row.precision);
    EXPECT_EQ(stored(made, "model.layers.3.self_attn.q_proj"), row.attention);
    EXPECT_EQ(stored(made, "model.layers.0.linear_attn.in_proj_qkv"), row.delta_net);
    EXPECT_EQ(stored(made, "model.layers.0.mlp.experts.255.down_proj"), row.expert);
    EXPECT_EQ(stored(made, "model.layers.0.mlp.shared_expert.up_proj"), row.shared);
    EXPECT_EQ(stored(made, "lm_head"), row.head);
    EXPECT_EQ(stored(made, "mtp.layers.0.self_attn.q_proj"), row.mtp_attention);
    for (const char* plain :
         {"model.layers.0.mlp.gate", "model.layers.0.mlp.shared_expert_gate", "model.embed_tokens",
          "model.layers.0.linear_attn.in_proj_a", "model.layers.0.linear_attn.in_proj_b"}) {
      EXPECT_EQ(stored(made, plain), kBf16) << plain;
    }
  }
}

TEST(Synthetic, HoldsATiedHeadOnlyWhereItIsQuantised) {
  EXPECT_EQ(stored(make_synthetic("synthetic:qwen3.5-0.8b@bf16"), "lm_head"), kAbsent);
  EXPECT_EQ(stored(make_synthetic("synthetic:qwen3.5-0.8b@fp8"), "lm_head"), kAbsent);
  EXPECT_EQ(stored(make_synthetic("synthetic:qwen3.5-0.8b@mixed"), "lm_head"), kNvfp4);
  EXPECT_EQ(stored(make_synthetic("synthetic:qwen3.5-0.8b@nvfp4"), "lm_head"), kNvfp4);
}

TEST(Synthetic, IsTakenWholeInEverySizeAndPrecision) {
  for (const std::string_view size : published_sizes()) {
    for (const char* precision : {"bf16", "fp8", "experts", "mixed", "nvfp4"}) {
      if (size.find("-a") == std::string_view::npos && std::string_view(precision) == "experts") continue;
      // The two largest have the same parts, only more of them: one precision each is enough.
      if (size.starts_with("qwen3.5-122b") && std::string_view(precision) != "mixed") continue;
      if (size.starts_with("qwen3.5-397b") && std::string_view(precision) != "bf16") continue;
      const Synthetic made = make_synthetic(fmt::format("synthetic:{}@{}", size, precision));
      checkpoint::Inventory inventory(made.files);
      const TakenModel model = take_model(made.config, inventory);
      EXPECT_THAT(model.faults, IsEmpty()) << made.files.name();
      EXPECT_THAT(model.mtp_missing, IsEmpty()) << made.files.name();
      EXPECT_THAT(inventory.left_over(), IsEmpty()) << made.files.name();
    }
  }
}

}  // namespace
}  // namespace redline::model::qwen3_5
