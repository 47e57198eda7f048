// A whole checkpoint with one thing changed: what take_model says of it, word for word.
#include "model/qwen3_5/take.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "model/qwen3_5/sizes.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Tensor;
using testing::ElementsAre;
using testing::IsEmpty;

// The tensors of a synthetic size, to be changed and taken.
class Changed {
 public:
  explicit Changed(const std::string& name) : made_(make_synthetic("synthetic:" + name)) {
    for (const Tensor& tensor : made_.files.tensors())
      tensors_.push_back({std::string(tensor.name), tensor.dtype, tensor.shape});
  }

  Config& config() { return made_.config; }
  Checkpoint::Declared& at(std::string_view name) {
    const auto found =
        std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& one) { return one.name == name; });
    ensure(found != tensors_.end(), "the test names \"{}\", which is not there", name);
    return *found;
  }
  void remove(std::string_view name) { tensors_.erase(tensors_.begin() + (&at(name) - tensors_.data())); }
  std::size_t remove_all(std::string_view prefix) {
    return std::erase_if(tensors_, [&](const auto& one) { return one.name.starts_with(prefix); });
  }
  void add(std::string name, DType dtype, Shape shape) {
    tensors_.push_back({std::move(name), dtype, shape});
  }

  TakenModel take() {
    files_.emplace(Checkpoint::synthetic("a-model", tensors_));
    inventory_.emplace(*files_);
    return take_model(made_.config, *inventory_);
  }

 private:
  Synthetic made_;
  std::vector<Checkpoint::Declared> tensors_;
  std::optional<Checkpoint> files_;
  std::optional<checkpoint::Inventory> inventory_;
};

TEST(TakeModel, NamesATensorThatIsMissing) {
  Changed plain("qwen3.5-0.8b");
  plain.remove("model.layers.5.input_layernorm.weight");
  EXPECT_THAT(plain.take().faults,
              ElementsAre("a-model: 1 tensor that the model needs and the files do not hold: "
                          "model.layers.5.input_layernorm.weight"));
  Changed weight("qwen3.5-0.8b@fp8");
  weight.remove("model.layers.3.self_attn.o_proj.weight");
  weight.remove("model.layers.3.self_attn.o_proj.weight_scale_inv");
  EXPECT_THAT(weight.take().faults,
              ElementsAre("a-model: 1 tensor that the model needs and the files do not hold: "
                          "model.layers.3.self_attn.o_proj.weight"));
}

TEST(TakeModel, NamesTheFirstOfManyAndCountsTheRest) {
  Changed model("qwen3.5-0.8b");
  for (int layer = 0; layer < 6; ++layer)
    model.remove(fmt::format("model.layers.{}.input_layernorm.weight", layer));
  EXPECT_THAT(
      model.take().faults,
      ElementsAre("a-model: 6 tensors that the model needs and the files do not hold: "
                  "model.layers.0.input_layernorm.weight, model.layers.1.input_layernorm.weight, "
                  "model.layers.2.input_layernorm.weight, model.layers.3.input_layernorm.weight and 2 more"));
}

TEST(TakeModel, NamesATensorThatNobodyTakes) {
  Changed model("qwen3.5-0.8b");
  model.add("model.layers.0.mlp.extra.weight", DType::BF16, {4, 4});
  EXPECT_THAT(model.take().faults,
              ElementsAre("a-model: 1 tensor in the files that the model has no use for: "
                          "model.layers.0.mlp.extra.weight"));
  // A layer too many is as unknown as a strange name.
  Changed deeper("qwen3.5-0.8b");
  deeper.add("model.layers.24.input_layernorm.weight", DType::BF16, {1024});
  EXPECT_THAT(deeper.take().faults,
              ElementsAre("a-model: 1 tensor in the files that the model has no use for: "
                          "model.layers.24.input_layernorm.weight"));
}

TEST(TakeModel, ATiedHeadMayBeAbsentAnotherMayNot) {
  EXPECT_THAT(Changed("qwen3.5-0.8b").take().faults, IsEmpty());
  Changed untied("qwen3.5-0.8b");
  untied.config().tied_head = false;
  EXPECT_THAT(
      untied.take().faults,
      ElementsAre("a-model: 1 tensor that the model needs and the files do not hold: lm_head.weight"));
}

TEST(TakeModel, HoldsShapesAgainstTheConfig) {
  Changed norm("qwen3.5-0.8b");
  norm.at("model.norm.weight").shape = {1023};
  EXPECT_THAT(norm.take().faults,
              ElementsAre("a-model: tensor \"model.norm.weight\": expected BF16, F16 or F32 [1024] "
                          "(from config.json), found BF16 [1023]"));
  Changed matrix("qwen3.5-0.8b");
  matrix.at("model.layers.3.mlp.up_proj.weight").shape = {1024, 3584};
  EXPECT_THAT(matrix.take().faults,
              ElementsAre("a-model: tensor \"model.layers.3.mlp.up_proj.weight\": expected a weight "
                          "of [3584, 1024] (from config.json), found [1024, 3584]"));
  // One expert too few in the fused layout; the shape is that of all of them.
  Changed experts("qwen3.5-35b-a3b");
  experts.at("model.layers.0.mlp.experts.down_proj").shape = {255, 2048, 512};
  EXPECT_THAT(experts.take().faults,
              ElementsAre("a-model: tensor \"model.layers.0.mlp.experts.down_proj\": expected a "
                          "weight of [256, 2048, 512] (from config.json), found [255, 2048, 512]"));
}

TEST(TakeModel, HoldsTypesAgainstTheFormats) {
  Changed norm("qwen3.5-0.8b");
  norm.at("model.norm.weight").dtype = DType::F8E4M3;
  EXPECT_THAT(norm.take().faults,
              ElementsAre("a-model: tensor \"model.norm.weight\": expected BF16, F16 or F32 [1024] "
                          "(from config.json), found F8_E4M3 [1024]"));
  Changed matrix("qwen3.5-0.8b");
  matrix.at("model.layers.3.mlp.up_proj.weight").dtype = DType::I32;
  EXPECT_THAT(matrix.take().faults,
              ElementsAre("a-model: tensor \"model.layers.3.mlp.up_proj.weight\": expected BF16, "
                          "F16, F32, F8_E4M3 or U8, found I32 [3584, 1024]"));
}

// A weight whose scale is gone is one fault: what else lies beside it is not left over as well.
TEST(TakeModel, TellsABrokenWeightOnce) {
  Changed model("qwen3.5-0.8b@nvfp4");
  model.remove("model.layers.3.mlp.up_proj.weight_scale_2");
  EXPECT_THAT(
      model.take().faults,
      ElementsAre(
          "a-model: tensor \"model.layers.3.mlp.up_proj.weight\": U8 [3584, 512] is NVFP4 of ModelOpt, "
          "which needs \"model.layers.3.mlp.up_proj.weight_scale_2\": that is missing"));
}

TEST(TakeModel, ShowsTwentyFaultsAndCountsTheRest) {
  Changed model("qwen3.5-0.8b");
  for (int layer = 0; layer < 24; ++layer)
    model.at(fmt::format("model.layers.{}.input_layernorm.weight", layer)).shape = {7};
  const std::vector<std::string> faults = model.take().faults;
  ASSERT_EQ(faults.size(), 21u);
  EXPECT_EQ(faults.back(), "… and 4 more tensors with such faults");
}

TEST(TakeModel, AnMtpHeadThatIsNotWholeIsNoFault) {
  Changed model("qwen3.5-0.8b");
  model.remove("mtp.fc.weight");
  model.remove("mtp.layers.0.mlp.down_proj.weight");
  const TakenModel taken = model.take();
  EXPECT_THAT(taken.faults, IsEmpty());
  EXPECT_THAT(taken.mtp_missing,
              testing::UnorderedElementsAre("mtp.fc.weight", "mtp.layers.0.mlp.down_proj.weight"));

  Changed without("qwen3.5-0.8b");
  EXPECT_GT(without.remove_all("mtp."), 0u);
  const TakenModel absent = without.take();
  EXPECT_THAT(absent.faults, IsEmpty());
  EXPECT_THAT(absent.mtp_missing, IsEmpty());
  EXPECT_EQ(absent.mtp_tensors, 0);
}

TEST(TakeModel, AnMtpHeadThatContradictsTheConfigIsAFault) {
  Changed model("qwen3.5-0.8b");
  model.at("mtp.norm.weight").shape = {7};
  EXPECT_THAT(model.take().faults,
              ElementsAre("a-model: tensor \"mtp.norm.weight\": expected BF16, F16 or F32 [1024] "
                          "(from config.json), found BF16 [7]"));
  Changed extra("qwen3.5-0.8b");
  extra.add("mtp.layers.1.input_layernorm.weight", DType::BF16, {1024});
  EXPECT_THAT(extra.take().faults,
              ElementsAre("a-model: 1 tensor in the files that the model has no use for: "
                          "mtp.layers.1.input_layernorm.weight"));
}

TEST(TakeModel, AnMtpHeadThatTheConfigDoesNotDeclareIsTaken) {
  Changed model("qwen3.5-0.8b");
  model.config().mtp_layers = 0;
  const TakenModel taken = model.take();
  EXPECT_THAT(taken.faults, IsEmpty());
  EXPECT_EQ(taken.mtp_layers, 1);
  EXPECT_THAT(taken.notes,
              ElementsAre("config.json declares no MTP layer (mtp_num_hidden_layers), the files hold one: "
                          "the tensors win"));
}

TEST(TakeModel, SkipsVisionWithALine) {
  Changed model("qwen3.5-0.8b");
  model.add("visual.blocks.0.attn.qkv.weight", DType::BF16, {96, 32});
  model.add("visual.blocks.0.attn.qkv.bias", DType::F32, {96});
  const TakenModel taken = model.take();
  EXPECT_THAT(taken.faults, IsEmpty());
  EXPECT_THAT(taken.notes, ElementsAre("2 vision tensors are known and skipped: the engine reads text only"));
  EXPECT_EQ(taken.vision.tensors, 2);
  EXPECT_EQ(taken.vision.bytes, 96 * 32 * 2 + 96 * 4);
}

TEST(TakeModel, CountsScalesOfTheCache) {
  Changed model("qwen3.5-0.8b");
  model.add("model.layers.3.self_attn.k_proj.k_scale", DType::F32, {});
  model.add("model.layers.3.self_attn.v_scale", DType::F32, {1});  // as compressed-tensors hangs it
  const TakenModel taken = model.take();
  EXPECT_THAT(taken.faults, IsEmpty());
  EXPECT_EQ(taken.kv_scales, 2);
  Changed wide("qwen3.5-0.8b");
  wide.add("model.layers.3.self_attn.k_proj.k_scale", DType::F32, {2});
  EXPECT_THAT(wide.take().faults,
              ElementsAre("a-model: tensor \"model.layers.3.self_attn.k_proj.k_scale\": expected a "
                          "single number, found F32 [2]"));
  // Layer 0 has no keys and values.
  Changed nowhere("qwen3.5-0.8b");
  nowhere.add("model.layers.0.self_attn.k_proj.k_scale", DType::F32, {});
  EXPECT_THAT(nowhere.take().faults,
              ElementsAre("a-model: 1 tensor in the files that the model has no use for: "
                          "model.layers.0.self_attn.k_proj.k_scale"));
}

}  // namespace
}  // namespace redline::model::qwen3_5
