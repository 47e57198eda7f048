// The spellings of docs/formats.md, "Names".
#include "checkpoint/names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace redline::checkpoint {
namespace {

std::string internal(std::string_view name) {
  const InternalName parts = internal_name(name);
  return std::string(parts.head).append(parts.tail);
}

TEST(Names, ThreeSpellingsBecomeOne) {
  for (const char* prefix : {"model.language_model.", "language_model.model.", "model."}) {
    const std::string on_disk = prefix;
    EXPECT_EQ(internal(on_disk + "layers.3.mlp.experts.7.gate_proj.weight"),
              "model.layers.3.mlp.experts.7.gate_proj.weight");
    EXPECT_EQ(internal(on_disk + "embed_tokens.weight"), "model.embed_tokens.weight");
    EXPECT_EQ(internal(on_disk + "norm.weight"), "model.norm.weight");
  }
  for (const char* name : {"lm_head.weight", "language_model.lm_head.weight"})
    EXPECT_EQ(internal(name), "lm_head.weight");
  for (const char* name : {"mtp.fc.weight", "language_model.mtp.fc.weight", "model.mtp.fc.weight"})
    EXPECT_EQ(internal(name), "mtp.fc.weight");
  for (const char* name :
       {"visual.pos_embed.weight", "model.visual.pos_embed.weight", "vision_tower.pos_embed.weight",
        "model.vision_tower.pos_embed.weight", "language_model.visual.pos_embed.weight"}) {
    EXPECT_EQ(internal(name), "visual.pos_embed.weight");
  }
}

TEST(Names, OthersStayAsTheyAre) {
  for (const char* name : {"", "model.", "model.language_modelx", "mtp.layers.0.x", "lm_head.weight_scale_2",
                           "something.else", "x.model.visual.y"}) {
    EXPECT_EQ(internal(name), name);
    EXPECT_TRUE(internal_name(name).head.empty());
  }
}

TEST(Names, RotaryTablesAreIgnored) {
  EXPECT_TRUE(is_ignored("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_TRUE(is_ignored("model.language_model.rotary_emb.inv_freq"));
  EXPECT_FALSE(is_ignored("model.layers.0.self_attn.rotary_emb.inv_freq.weight"));
  EXPECT_FALSE(is_ignored("model.norm.weight"));
}

}  // namespace
}  // namespace redline::checkpoint
