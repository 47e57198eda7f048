// What the plan makes of a published BF16 size is what `synthetic:` says that a published quantised one
// holds. The one difference is wanted: scales of activations in NVFP4, which only a calibration on text could
// give.
#include "model/qwen3_5/quantize_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/error.hpp"
#include "model/qwen3_5/sizes.hpp"

namespace redline::model::qwen3_5 {
namespace {

using Tensors = std::map<std::string, std::string>;  // name -> type and shape

std::string text_of(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", redline::name_of(dtype), to_text(shape));
}

Tensors published(const std::string& name) {
  const Synthetic model = make_synthetic(name);
  std::set<std::string> nvfp4_input_scales;
  Tensors tensors;
  for (const checkpoint::Tensor& tensor : model.files.tensors()) {
    const std::string tensor_name(tensor.name);
    if (tensor_name.ends_with(".weight_scale_2")) {
      nvfp4_input_scales.insert(tensor_name.substr(0, tensor_name.rfind('.')) + ".input_scale");
    }
    tensors.emplace(tensor_name, text_of(tensor.dtype, tensor.shape));
  }
  for (const std::string& scale : nvfp4_input_scales) tensors.erase(scale);
  return tensors;
}

Tensors planned(const std::string& size, Precision precision) {
  const Synthetic model = make_synthetic(size);
  Tensors tensors;
  for (const auto& unit : plan_quantization(model.config, model.files, precision).units) {
    for (const auto& tensor : checkpoint::tensors_of(unit)) {
      const bool is_new = tensors.emplace(tensor.name, text_of(tensor.dtype, tensor.shape)).second;
      EXPECT_TRUE(is_new) << tensor.name;
    }
  }
  return tensors;
}

TEST(QuantizePlan, GivesThePublishedTensors) {
  for (const char* size : {"synthetic:qwen3.5-0.8b", "synthetic:qwen3.5-27b", "synthetic:qwen3.5-35b-a3b"}) {
    for (const Precision precision :
         {Precision::Experts, Precision::Mixed, Precision::Nvfp4, Precision::Fp8}) {
      if (precision == Precision::Experts && !make_synthetic(size).config.moe) continue;
      const std::string name = fmt::format("{}@{}", size, name_of(precision));
      EXPECT_EQ(planned(size, precision), published(name)) << name;
    }
  }
}

TEST(QuantizePlan, CopiesTheHeadOnlyWhereItIsTiedAndQuantised) {
  const auto unties = [](const char* size, Precision precision) {
    const Synthetic model = make_synthetic(size);
    return plan_quantization(model.config, model.files, precision).unties_head;
  };
  EXPECT_TRUE(unties("synthetic:qwen3.5-0.8b", Precision::Mixed));
  EXPECT_TRUE(unties("synthetic:qwen3.5-0.8b", Precision::Nvfp4));
  EXPECT_FALSE(unties("synthetic:qwen3.5-0.8b", Precision::Fp8));
  EXPECT_FALSE(unties("synthetic:qwen3.5-27b", Precision::Mixed));
}

// Gate and up of one expert share a scalar, and no two experts do.
TEST(QuantizePlan, SharesScalesInsideOneProduct) {
  const Synthetic model = make_synthetic("synthetic:qwen3.5-35b-a3b");
  std::map<int, std::set<std::string>> products;
  for (const auto& unit : plan_quantization(model.config, model.files, Precision::Nvfp4).units) {
    if (unit.shared_scale < 0) continue;
    const std::size_t dot = unit.module.rfind('.');
    products[unit.shared_scale].insert(unit.module.substr(0, dot));
  }
  EXPECT_EQ(products.size(), 40u * 256 + 40 + 40);  // experts, shared experts, attention or delta-net
  for (const auto& [number, parents] : products) EXPECT_EQ(parents.size(), 1u) << *parents.begin();
}

TEST(QuantizePlan, RefusesWhatMakesNoSense) {
  const auto refusal = [](const char* name, Precision precision) -> std::string {
    const Synthetic model = make_synthetic(name);
    try {
      plan_quantization(model.config, model.files, precision);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      refusal("synthetic:qwen3.5-27b", Precision::Experts),
      "synthetic:qwen3.5-27b: a dense model has no routed experts to quantise; use fp8, mixed or nvfp4");
  EXPECT_EQ(
      refusal("synthetic:qwen3.5-35b-a3b@experts", Precision::Mixed),
      "synthetic:qwen3.5-35b-a3b@experts is quantised already (routed_experts NVFP4); quantize starts from a "
      "BF16 checkpoint");
  EXPECT_EQ(refusal("synthetic:qwen3.5-27b", Precision::Bf16),
            "a BF16 checkpoint is BF16 already; quantize goes to experts, mixed, nvfp4 or fp8");
}

}  // namespace
}  // namespace redline::model::qwen3_5
