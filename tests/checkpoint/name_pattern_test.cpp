// Wildcards as Python's fnmatch.fnmatchcase reads them, regular expressions as its re.match does. The names
// that match were listed by Python 3.11; those that are not listed must not match.
#include "checkpoint/name_pattern.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace redline::checkpoint {
namespace {

struct Row {
  const char* pattern;
  std::set<std::string> matching;
};
const std::vector<std::string> kWildcardNames = {R"(lm_head)",
                                                 R"(model.layers.3.mlp.shared_expert.up_proj)",
                                                 R"(model.layers.3.mlp.shared_expert_gate)",
                                                 R"(model.language_model.layers.1.linear_attn.in_proj_qkv)",
                                                 R"(model.language_model.layers.12.linear_attn.in_proj_qkv)",
                                                 R"(mtp.fc)",
                                                 R"(mtp.layers.0.self_attn.q_proj)",
                                                 R"(model.visual.blocks.0.attn.qkv)",
                                                 R"()",
                                                 R"(a)",
                                                 R"(abc)",
                                                 R"(aXbXbYc)",
                                                 R"(aab)",
                                                 R"(ax)",
                                                 R"(dx)",
                                                 R"(b95)",
                                                 R"(]x)",
                                                 R"([x)",
                                                 R"(a[)",
                                                 R"(-)",
                                                 R"(aXXab)"};
const std::vector<Row> kWildcardRows = {
    {R"(lm_head)", {R"(lm_head)"}},
    {R"(*.mlp.shared_expert.*)", {R"(model.layers.3.mlp.shared_expert.up_proj)"}},
    {R"(model.language_model.layers.1.linear_attn*)",
     {R"(model.language_model.layers.1.linear_attn.in_proj_qkv)"}},
    {R"(mtp*)", {R"(mtp.fc)", R"(mtp.layers.0.self_attn.q_proj)"}},
    {R"(mtp.layers.0*)", {R"(mtp.layers.0.self_attn.q_proj)"}},
    {R"(model.visual*)", {R"(model.visual.blocks.0.attn.qkv)"}},
    {R"(*)",
     {R"(lm_head)",
      R"(model.layers.3.mlp.shared_expert.up_proj)",
      R"(model.layers.3.mlp.shared_expert_gate)",
      R"(model.language_model.layers.1.linear_attn.in_proj_qkv)",
      R"(model.language_model.layers.12.linear_attn.in_proj_qkv)",
      R"(mtp.fc)",
      R"(mtp.layers.0.self_attn.q_proj)",
      R"(model.visual.blocks.0.attn.qkv)",
      R"()",
      R"(a)",
      R"(abc)",
      R"(aXbXbYc)",
      R"(aab)",
      R"(ax)",
      R"(dx)",
      R"(b95)",
      R"(]x)",
      R"([x)",
      R"(a[)",
      R"(-)",
      R"(aXXab)"}},
    {R"()", {R"()"}},
    {R"(?)", {R"(a)", R"(-)"}},
    {R"(a*b*c)", {R"(abc)", R"(aXbXbYc)"}},
    {R"(*a*b)", {R"(aab)", R"(aXXab)"}},
    {R"([abc]x)", {R"(ax)"}},
    {R"([!abc]x)", {R"(dx)", R"(]x)", R"([x)"}},
    {R"([a-c]?[0-9])", {R"(b95)"}},
    {R"([]]x)", {R"(]x)"}},
    {R"([!]]x)", {R"(ax)", R"(dx)", R"([x)"}},
    {R"([x)", {R"([x)"}},
    {R"(a[)", {R"(a[)"}},
    {R"(*.layers.[0-9].*)",
     {R"(model.layers.3.mlp.shared_expert.up_proj)", R"(model.layers.3.mlp.shared_expert_gate)",
      R"(model.language_model.layers.1.linear_attn.in_proj_qkv)", R"(mtp.layers.0.self_attn.q_proj)"}},
    {R"(*experts*)", {}},
    {R"(**a)", {R"(a)"}},
    {R"([a-])", {R"(a)", R"(-)"}}};
const std::vector<std::string> kRegexNames = {R"(model.visual.blocks.0.attn.qkv)",
                                              R"(model.layers.3.mlp.gate)",
                                              R"(model.layers.3.mlp.gate_proj)",
                                              R"(model.layers.13.self_attn.q_proj)",
                                              R"(model.layers.3.mlp.experts.7.up_proj)",
                                              R"(model.layers.59.mlp.up_proj)",
                                              R"(model.layers.5.mlp.up_proj)",
                                              R"(model.layers.64.mlp.up_proj)",
                                              R"(lm_head)",
                                              R"(lm_head2)",
                                              R"(mtp.fc)",
                                              R"(model.layers.7)",
                                              R"(1x)",
                                              R"(ax)",
                                              R"(aab)",
                                              R"(aaaab)",
                                              R"(aaaaaaaaac)",
                                              R"(ab)",
                                              R"()",
                                              R"(model.layers.0.linear_attn.out_proj)",
                                              R"(model.norm)",
                                              R"(xyzz)"};
const std::vector<Row> kRegexRows = {
    {R"(.*visual.*)", {R"(model.visual.blocks.0.attn.qkv)"}},
    {R"(.*mlp.gate$)", {R"(model.layers.3.mlp.gate)"}},
    {R"(.*mlp\.gate$)", {R"(model.layers.3.mlp.gate)"}},
    {R"(^model\.layers\.[0-9]+\.self_attn\.(q|k|v|o)_proj$)", {R"(model.layers.13.self_attn.q_proj)"}},
    {R"((?!.*experts).*_proj)",
     {R"(model.layers.3.mlp.gate_proj)", R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.59.mlp.up_proj)", R"(model.layers.5.mlp.up_proj)", R"(model.layers.64.mlp.up_proj)",
      R"(model.layers.0.linear_attn.out_proj)"}},
    {R"(.*layers\.(?:5[6-9]|6[0-3])\.mlp.*)", {R"(model.layers.59.mlp.up_proj)"}},
    {R"(lm_head)", {R"(lm_head)", R"(lm_head2)"}},
    {R"(mtp.*)", {R"(mtp.fc)"}},
    {R"(.*\.(\d+)\.\w+$)", {R"(model.layers.3.mlp.experts.7.up_proj)"}},
    {R"(.*[^a-z_]x)", {R"(1x)"}},
    {R"(a{2,3}b)", {R"(aab)"}},
    {R"(a{2})", {R"(aab)", R"(aaaab)", R"(aaaaaaaaac)"}},
    {R"((a*)*b)", {R"(aab)", R"(aaaab)", R"(ab)"}},
    {R"((a|aa)+$)", {}},
    {R"(model\.(?=layers).*proj\b)",
     {R"(model.layers.3.mlp.gate_proj)", R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.3.mlp.experts.7.up_proj)", R"(model.layers.59.mlp.up_proj)",
      R"(model.layers.5.mlp.up_proj)", R"(model.layers.64.mlp.up_proj)",
      R"(model.layers.0.linear_attn.out_proj)"}},
    {R"()",
     {R"(model.visual.blocks.0.attn.qkv)",
      R"(model.layers.3.mlp.gate)",
      R"(model.layers.3.mlp.gate_proj)",
      R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.3.mlp.experts.7.up_proj)",
      R"(model.layers.59.mlp.up_proj)",
      R"(model.layers.5.mlp.up_proj)",
      R"(model.layers.64.mlp.up_proj)",
      R"(lm_head)",
      R"(lm_head2)",
      R"(mtp.fc)",
      R"(model.layers.7)",
      R"(1x)",
      R"(ax)",
      R"(aab)",
      R"(aaaab)",
      R"(aaaaaaaaac)",
      R"(ab)",
      R"()",
      R"(model.layers.0.linear_attn.out_proj)",
      R"(model.norm)",
      R"(xyzz)"}},
    {R"(.*self_attn.*|.*linear_attn.*)",
     {R"(model.layers.13.self_attn.q_proj)", R"(model.layers.0.linear_attn.out_proj)"}},
    {R"(\S+\s?)",
     {R"(model.visual.blocks.0.attn.qkv)",
      R"(model.layers.3.mlp.gate)",
      R"(model.layers.3.mlp.gate_proj)",
      R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.3.mlp.experts.7.up_proj)",
      R"(model.layers.59.mlp.up_proj)",
      R"(model.layers.5.mlp.up_proj)",
      R"(model.layers.64.mlp.up_proj)",
      R"(lm_head)",
      R"(lm_head2)",
      R"(mtp.fc)",
      R"(model.layers.7)",
      R"(1x)",
      R"(ax)",
      R"(aab)",
      R"(aaaab)",
      R"(aaaaaaaaac)",
      R"(ab)",
      R"(model.layers.0.linear_attn.out_proj)",
      R"(model.norm)",
      R"(xyzz)"}},
    {R"((?P<x>mtp)\.fc)", {R"(mtp.fc)"}},
    {R"(a+?b)", {R"(aab)", R"(aaaab)", R"(ab)"}},
    {R"([\w.]+$)",
     {R"(model.visual.blocks.0.attn.qkv)",
      R"(model.layers.3.mlp.gate)",
      R"(model.layers.3.mlp.gate_proj)",
      R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.3.mlp.experts.7.up_proj)",
      R"(model.layers.59.mlp.up_proj)",
      R"(model.layers.5.mlp.up_proj)",
      R"(model.layers.64.mlp.up_proj)",
      R"(lm_head)",
      R"(lm_head2)",
      R"(mtp.fc)",
      R"(model.layers.7)",
      R"(1x)",
      R"(ax)",
      R"(aab)",
      R"(aaaab)",
      R"(aaaaaaaaac)",
      R"(ab)",
      R"(model.layers.0.linear_attn.out_proj)",
      R"(model.norm)",
      R"(xyzz)"}},
    {R"(x?y??z*)",
     {R"(model.visual.blocks.0.attn.qkv)",
      R"(model.layers.3.mlp.gate)",
      R"(model.layers.3.mlp.gate_proj)",
      R"(model.layers.13.self_attn.q_proj)",
      R"(model.layers.3.mlp.experts.7.up_proj)",
      R"(model.layers.59.mlp.up_proj)",
      R"(model.layers.5.mlp.up_proj)",
      R"(model.layers.64.mlp.up_proj)",
      R"(lm_head)",
      R"(lm_head2)",
      R"(mtp.fc)",
      R"(model.layers.7)",
      R"(1x)",
      R"(ax)",
      R"(aab)",
      R"(aaaab)",
      R"(aaaaaaaaac)",
      R"(ab)",
      R"()",
      R"(model.layers.0.linear_attn.out_proj)",
      R"(model.norm)",
      R"(xyzz)"}}};

TEST(NamePattern, WildcardsMatchAsFnmatchDoes) {
  for (const Row& row : kWildcardRows) {
    const NamePattern pattern = NamePattern::wildcards(row.pattern);
    for (const std::string& name : kWildcardNames) {
      EXPECT_EQ(pattern.matches(name), row.matching.contains(name)) << row.pattern << " on " << name;
    }
  }
}

TEST(NamePattern, ExpressionsMatchAsPythonDoes) {
  for (const Row& row : kRegexRows) {
    const std::optional<NamePattern> pattern = NamePattern::regex(row.pattern);
    ASSERT_TRUE(pattern.has_value()) << row.pattern;
    for (const std::string& name : kRegexNames) {
      EXPECT_EQ(pattern->matches(name), row.matching.contains(name)) << row.pattern << " on " << name;
    }
  }
}

TEST(NamePattern, RefusesWhatItDoesNotKnow) {
  for (const char* expression :
       {"(?i)a", "(a)\\1", "a**", "*a", "(a", "a)", "[a", "a{3,2}", "a{", "\\", "\\q", "(?<=a)b", "(?=(?=a))",
        "((((((((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))))))))",
        "(a{1000}){1000}"}) {
    EXPECT_FALSE(NamePattern::regex(expression).has_value()) << expression;
  }
}

// These take Python, and the standard library's matcher, longer than anybody waits.
TEST(NamePattern, HostileExpressionsStayCheap) {
  const std::string name(1000, 'a');
  EXPECT_FALSE(NamePattern::regex("(a*)*(a*)*(a|a)*(a?){50}b")->matches(name));
  EXPECT_FALSE(NamePattern::wildcards("*a*a*a*a*a*a*a*a*a*b").matches(name));
  EXPECT_FALSE(NamePattern::regex(".*")->matches(std::string(5000, 'a')));  // longer than any module's name
}

TEST(NamePattern, PlainNamesAreKnownAsSuch) {
  ASSERT_NE(NamePattern::wildcards("lm_head").plain(), nullptr);
  EXPECT_EQ(*NamePattern::wildcards("lm_head").plain(), "lm_head");
  EXPECT_EQ(NamePattern::wildcards("mtp*").plain(), nullptr);
}

}  // namespace
}  // namespace redline::checkpoint
