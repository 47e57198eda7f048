// Reasoning and answer apart, for every way to cut the stream.
#include "text/parse/reasoning.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace redline::text {
namespace {

struct Case {
  const char* name;
  bool starts_inside;
  std::string text, reasoning, content;
};

const std::vector<Case> kCases{
    {"ThinkingThenAnswer", true, "Two and two.\n</think>\n\nFour.", "Two and two.", "Four."},
    {"PromptOpenedIt", true, "\nfirst\nsecond\n\n</think>\n\nok\n", "first\nsecond", "ok\n"},
    {"NothingThought", true, "\n</think>\n\nok", "", "ok"},
    {"NothingThoughtNoSpace", true, "</think>ok", "", "ok"},
    {"NeverClosed", true, "I wonder about < and </thin", "I wonder about < and </thin", ""},
    {"OpensItself", false, "<think>\nhm\n</think>\n\nyes", "hm", "yes"},
    {"OpensItselfAfterSpace", false, " \n<think>hm</think>yes", "hm", "yes"},
    {"PlainAnswer", false, "plain", "", "plain"},
    {"PlainWithTagLater", false, "a <think> b", "", "a <think> b"},
    {"PlainWithCloseTag", false, "a </think> b", "", "a </think> b"},
    {"AlmostATag", false, "<thin ice", "", "<thin ice"},
    {"OnlyTheStartOfATag", false, "<thi", "", "<thi"},
    {"SpaceInsideStays", true, "a \n\n b </think> c", "a \n\n b", "c"},
    {"SecondCloseTagIsText", true, "a</think>b</think>c", "a", "b</think>c"},
    {"Empty", true, "", "", ""},
    {"OnlySpace", true, " \n ", "", ""},
    {"ManyBytes", true, "생각 중…</think>안녕 🎉", "생각 중…", "안녕 🎉"},
};

ReasoningSplitter::Parts split(const Case& one, std::size_t first, std::size_t second) {
  ReasoningSplitter splitter(one.starts_inside);
  ReasoningSplitter::Parts all;
  const auto add = [&](const ReasoningSplitter::Parts& parts) {
    all.reasoning += parts.reasoning;
    all.content += parts.content;
  };
  add(splitter.push(one.text.substr(0, first)));
  add(splitter.push(one.text.substr(first, second - first)));
  add(splitter.push(one.text.substr(second)));
  add(splitter.finish());
  return all;
}

TEST(Reasoning, IsTheSameForEveryCut) {
  for (const Case& one : kCases) {
    for (std::size_t first = 0; first <= one.text.size(); ++first) {
      for (std::size_t second = first; second <= one.text.size(); ++second) {
        const ReasoningSplitter::Parts parts = split(one, first, second);
        ASSERT_EQ(parts.reasoning, one.reasoning) << one.name << " cut at " << first << " and " << second;
        ASSERT_EQ(parts.content, one.content) << one.name << " cut at " << first << " and " << second;
      }
    }
  }
}

TEST(Reasoning, HoldsNoMoreThanItMust) {
  ReasoningSplitter splitter(true);
  EXPECT_EQ(splitter.push("thinking").reasoning, "thinking");
  EXPECT_EQ(splitter.push(" <").reasoning, "");
  EXPECT_EQ(splitter.push("b").reasoning, " <b");
}

}  // namespace
}  // namespace redline::text
