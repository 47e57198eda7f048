// Nothing left over, nothing missing, and sentences that name the tensors.
#include "checkpoint/inventory.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

std::vector<std::string> names_of(const std::vector<const Tensor*>& tensors) {
  std::vector<std::string> names;
  for (const Tensor* tensor : tensors) names.emplace_back(tensor->name);
  return names;
}

Checkpoint small() {
  return Checkpoint::synthetic("synthetic:small", {{"a.weight", DType::U8, {4, 16}},
                                                   {"a.weight_scale", DType::F8E4M3, {4, 2}},
                                                   {"a.weight_scale_2", DType::F32, {}},
                                                   {"a.input_scale", DType::F32, {}},
                                                   {"norm.weight", DType::BF16, {4}}});
}

TEST(Inventory, AWeightTakesItsScalesAlong) {
  const Checkpoint files = small();
  Inventory inventory(files);
  EXPECT_EQ(inventory.left_over().size(), 5U);
  ASSERT_TRUE(inventory.take_weight("a").has_value());
  EXPECT_EQ(names_of(inventory.left_over()), std::vector<std::string>{"norm.weight"});
  EXPECT_NE(inventory.take("norm.weight"), nullptr);
  EXPECT_TRUE(inventory.troubles().empty());
  EXPECT_NO_THROW(inventory.check());
}

TEST(Inventory, WhatIsNotThereIsNoTroubleUntilItIsMissed) {
  const Checkpoint files = Checkpoint::synthetic("synthetic:none", {});
  Inventory inventory(files);
  EXPECT_EQ(inventory.take("x"), nullptr);
  EXPECT_FALSE(inventory.take_weight("x").has_value());
  EXPECT_TRUE(inventory.troubles().empty());
  inventory.miss("x.weight");
  EXPECT_EQ(inventory.troubles(),
            std::vector<std::string>{
                "synthetic:none: 1 tensor that the model needs and the files do not hold: x.weight"});
}

TEST(Inventory, SentencesShowTheFirstFewAndCountTheRest) {
  const Checkpoint files = small();
  Inventory inventory(files);
  for (const char* name : {"m1", "m2", "m3", "m4", "m5", "m6"}) inventory.miss(name);
  const std::vector<std::string> sentences = inventory.troubles();
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(
      sentences[0],
      "synthetic:small: 6 tensors that the model needs and the files do not hold: m1, m2, m3, m4 and 2 more");
  EXPECT_EQ(sentences[1],
            "synthetic:small: 5 tensors in the files that the model has no use for: a.input_scale, a.weight, "
            "a.weight_scale, "
            "a.weight_scale_2 and 1 more");
  try {
    inventory.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadCheckpoint);
    EXPECT_EQ(error.what(), sentences[0]);
  }
}

TEST(Inventory, ABrokenWeightIsOneErrorAndNoLeftOver) {
  const Checkpoint files = Checkpoint::synthetic(
      "synthetic:broken", {{"a.weight", DType::U8, {4, 16}}, {"a.weight_scale", DType::F8E4M3, {4, 2}}});
  Inventory inventory(files);
  EXPECT_THROW(inventory.take_weight("a"), Error);
  EXPECT_TRUE(inventory.left_over().empty());
}

}  // namespace
}  // namespace redline::checkpoint
