// What names are found by: the table of names, the order of a checkpoint's tensors however the files have
// them, and a module's tensors among neighbours whose names only begin alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/name_table.hpp"
#include "checkpoint/small_files.hpp"
#include "checkpoint/tensor_scheme.hpp"

namespace redline::checkpoint {
namespace {

using test::bf16;
using test::file_with;
using test::Row;

TEST(NameTable, KeepsTheFirstNumberAndGrows) {
  // Made for one name, filled with thousands: it grows many times over.
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("name " + std::to_string(i));
  const auto name_of = [&](std::uint32_t number) { return std::string_view(names[number]); };
  NameTable table(1);
  for (std::uint32_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.insert(names[i], i, name_of), i);
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.insert(names[i], 4999 - i, name_of), i);
    EXPECT_EQ(table.find(names[i], name_of), i);
  }
  for (const char* absent : {"", "name", "name 5000", "name 00"})
    EXPECT_EQ(table.find(absent, name_of), NameTable::kNone) << absent;
}

TEST(NameTable, OfNoNames) {
  const auto name_of = [](std::uint32_t) { return std::string_view(); };
  EXPECT_EQ(NameTable(0).find("a", name_of), NameTable::kNone);
}

std::vector<std::string> names_of(const Checkpoint& files) {
  std::vector<std::string> names;
  for (const Tensor& tensor : files.tensors()) names.emplace_back(tensor.name);
  return names;
}

TEST(TensorOrder, IsByNameHoweverTheFilesHaveThem) {
  std::vector<std::string> names;
  for (int i = 0; i < 700; ++i) names.push_back("t" + std::to_string(i));
  const std::vector<std::string> counted_up = names;
  std::vector<std::string> backwards(names.rbegin(), names.rend());
  std::mt19937 random(7);
  std::vector<std::string> shuffled = names;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  for (const std::vector<std::string>& order : {counted_up, backwards, shuffled, sorted}) {
    // In shards of unequal sizes, so that runs end within a shard and between shards.
    const test::TemporaryFolder folder;
    folder.write("config.json", "{}");
    const std::array<std::size_t, 4> cuts = {0, 1, 250, order.size()};
    for (std::size_t shard = 0; shard < 3; ++shard) {
      std::vector<Row> rows;
      for (std::size_t i = cuts[shard]; i < cuts[shard + 1]; ++i) rows.push_back(bf16(order[i]));
      folder.write("model-0000" + std::to_string(shard + 1) + "-of-00003.safetensors", file_with(rows));
    }
    const Checkpoint files = Checkpoint::open(folder.path());
    EXPECT_EQ(names_of(files), sorted);
    for (const std::string& name : names) {
      const Tensor* tensor = files.find(name);
      ASSERT_NE(tensor, nullptr) << name;
      EXPECT_EQ(tensor->name, name);
      // Each file's first tensor begins after its header, each next one eight bytes further.
      const auto place =
          static_cast<std::size_t>(std::find(order.begin(), order.end(), name) - order.begin());
      const std::size_t first = *std::prev(std::upper_bound(cuts.begin(), cuts.end() - 1, place));
      EXPECT_EQ(tensor->offset, files.find(order[first])->offset + 8 * (place - first)) << name;
    }
    EXPECT_EQ(files.find("t700"), nullptr);
  }
}

TEST(FindWeight, AmongNeighboursThatBeginAlike) {
  // '-' sorts before '.', '/' and digits after it; "…x.y.weight" lies between "…x.weight" and its scales.
  std::vector<Checkpoint::Declared> tensors = {{"m.x-scale.weight_scale_inv", DType::F32, {1}},
                                               {"m.x.weight_scale", DType::F32, {}},
                                               {"m.x.weight", DType::F8E4M3, {8, 4}},
                                               {"m.x.input_scale", DType::F32, {}},
                                               {"m.x.weight.more", DType::F32, {1}},
                                               {"m.x.a.weight_scale_inv", DType::F32, {1}},
                                               {"m.x0.weight", DType::BF16, {2, 2}},
                                               {"m.x0.weight_scale_2", DType::F32, {}},
                                               {"m.weight_scale_inv", DType::F32, {}},
                                               {"m.y.weight", DType::BF16, {2, 2}},
                                               {"m.w.weight", DType::BF16, {2, 2}},
                                               {"m", DType::BF16, {2, 2, 2}}};
  const Checkpoint files = Checkpoint::synthetic("s", tensors);
  const std::optional<Weight> weight = find_weight(files, "m.x");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->codes, files.find("m.x.weight"));
  EXPECT_EQ(weight->tensor_scale, files.find("m.x.weight_scale"));
  EXPECT_EQ(weight->input_scale, files.find("m.x.input_scale"));
  // The first and the last of all tensors have neighbours on one side only.
  EXPECT_TRUE(find_weight(files, "m.w"));
  EXPECT_TRUE(find_weight(files, "m.y"));
  EXPECT_FALSE(find_weight(files, "m.z"));
  EXPECT_FALSE(find_weight(files, ""));
}

}  // namespace
}  // namespace redline::checkpoint
