// Stop strings over every way to cut a text, held against a check of the whole text after each character.
#include "text/stop_strings.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace redline::text {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::size_t> stopped_by;
  bool operator==(const Outcome&) const = default;
};

// The definition, slowly: after every byte, does the text end with a stop string? The longest of those
// counts.
Outcome by_definition(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> best;
    for (std::size_t k = 0; k < stops.size(); ++k) {
      const std::size_t size = stops[k].size();
      if (size > end || text.compare(end - size, size, stops[k]) != 0) continue;
      if (!best || size > stops[*best].size()) best = k;
    }
    if (best) return {text.substr(0, end - stops[*best].size()), best};
  }
  return {text, std::nullopt};
}

Outcome in_pieces(const std::string& text, const std::vector<std::string>& stops, unsigned cuts) {
  StopStrings machine(stops);
  Outcome out;
  std::string piece;
  for (std::size_t i = 0; i < text.size(); ++i) {
    piece += text[i];
    if (((cuts >> i) & 1U) != 0 || i + 1 == text.size()) {
      out.text += machine.push(piece);
      piece.clear();
    }
  }
  out.text += machine.finish();
  out.stopped_by = machine.stopped_by();
  return out;
}

TEST(StopStrings, EveryWayToCut) {
  const std::vector<std::vector<std::string>> lists = {{"ab"},          {"abcd", "bc"},     {"aab"},
                                                       {"aa", "a"},     {"b", "ab", "aab"}, {"abab"},
                                                       {"END", "ENDE"}, {"ba", "abc"},      {}};
  const std::vector<std::string> texts = {"aaab",   "xabcd",  "xabcx",  "ababab", "aabaab",
                                          "xENDEx", "ENENDx", "abacab", "b",      "cabcab"};
  for (const auto& stops : lists) {
    for (const auto& text : texts) {
      const Outcome expected = by_definition(text, stops);
      for (unsigned cuts = 0; cuts < (1U << (text.size() - 1)); ++cuts) {
        EXPECT_EQ(in_pieces(text, stops, cuts), expected) << text << " cut at " << cuts;
      }
    }
  }
}

TEST(StopStrings, ThatEndOnTheSameByteTheLongestIsCut) {
  EXPECT_EQ(by_definition("xabcd", {"abcd", "bc"}), (Outcome{"xa", 1}));  // "bc" is complete before "abcd"
  EXPECT_EQ(in_pieces("xaab", {"b", "ab", "aab"}, 0), (Outcome{"x", 2}));
}

TEST(StopStrings, HoldsBackNoMoreThanCouldStillBecomeOne) {
  StopStrings machine({"\n\nUser:"});
  EXPECT_EQ(machine.push("one\n"), "one");
  EXPECT_EQ(machine.push("two\n\nUs"), "\ntwo");
  EXPECT_EQ(machine.push("ual"), "\n\nUsual");
  EXPECT_EQ(machine.push("\n\n\n"), "\n");
  EXPECT_EQ(machine.finish(), "\n\n");
  EXPECT_EQ(machine.stopped_by(), std::nullopt);
}

TEST(StopStrings, ShowsNothingAfterTheStop) {
  StopStrings machine({"</end>"});
  EXPECT_EQ(machine.push("a</en"), "a");
  EXPECT_EQ(machine.push("d>tail"), "");
  EXPECT_EQ(machine.push("more"), "");
  EXPECT_EQ(machine.finish(), "");
  EXPECT_EQ(machine.stopped_by(), std::optional<std::size_t>(0));
}

TEST(StopStrings, RefusesAnEmptyOne) {
  try {
    StopStrings machine({"a", ""});
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_STREQ(error.what(), "stop[1] is empty, expected at least one character");
  }
}

}  // namespace
}  // namespace redline::text
