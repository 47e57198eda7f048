// Runs tests/cases/tokenizer/words_*.case: text and the words that a split pattern makes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/paths.hpp"
#include "text/pretokenize.hpp"
#include "text/utf8.hpp"

namespace redline::text {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size())
    text.replace(i, from.size(), to);
  return text;
}

std::string unescape(std::string text) {
  text = replaced(replaced(replaced(text, "⏎", "\n"), "␍", "\r"), "␉", "\t");
  for (std::size_t i = 0; (i = text.find("\\u{", i)) != std::string::npos;) {
    const std::size_t end = text.find('}', i);
    std::string character;
    append_utf8(std::stoi(text.substr(i + 3, end - i - 3), nullptr, 16), character);
    text.replace(i, end + 1 - i, character);
  }
  return text;
}

std::vector<std::string> parts_of(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, separator.size(), separator) == 0) {
      parts.emplace_back();
      i += separator.size();
    } else {
      parts.back() += text[i++];
    }
  }
  return parts;
}

SplitPattern pattern_named(const std::string& name) {
  if (name == "qwen3.5") return SplitPattern::Qwen35;
  if (name == "qwen2") return SplitPattern::Qwen2;
  EXPECT_EQ(name, "gpt2");
  return SplitPattern::Gpt2;
}

TEST(Split, Cases) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() / "tests/cases/tokenizer")) {
    if (!entry.path().filename().string().starts_with("words_")) continue;
    std::ifstream file(entry.path());
    std::string line, title, text;
    SplitPattern pattern = SplitPattern::Qwen35;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      const std::string key = line.substr(0, line.find(' '));
      const std::string value = line.substr(8);  // columns, so that spaces at the ends of a text count
      if (key == "pattern") {
        pattern = pattern_named(value);
      } else if (key == "say") {
        title = value;
      } else if (key == "text") {
        text = unescape(value);
      } else {
        ASSERT_EQ(key, "expect") << entry.path() << ": " << line;
        const Pretokenizer pretokenizer(pattern);
        Splitter splitter(pretokenizer);
        splitter.start(text);
        std::vector<std::string> words;
        for (std::string_view word; splitter.next(word);) words.emplace_back(word);
        EXPECT_EQ(words, parts_of(unescape(value), "│")) << entry.path().filename() << ": " << title;
        ++count;
      }
    }
  }
  EXPECT_GE(count, 16);
}

TEST(Split, RunsOfAMegabyteAreOneWordAndQuick) {
  const Pretokenizer pretokenizer(SplitPattern::Qwen35);
  Splitter splitter(pretokenizer);
  for (const std::string_view unit : {"a", "é", "\u0301", " ", "\u3000", "\n", "!", "。", "กั"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    splitter.start(text);
    std::string_view word;
    ASSERT_TRUE(splitter.next(word));
    EXPECT_EQ(word.size(), text.size()) << "unit " << unit;
  }
}

TEST(Split, KnowsItsPatternsByTheirText) {
  for (const SplitPattern pattern : {SplitPattern::Qwen35, SplitPattern::Qwen2, SplitPattern::Gpt2}) {
    EXPECT_EQ(split_pattern_from_regex(regex_of(pattern)), pattern);
  }
  EXPECT_EQ(split_pattern_from_regex("\\s+"), std::nullopt);
}

// Every text of up to four of these units, once before an ASCII digit and once before one beyond ASCII. Both
// digits are words of their own, so the words before them are equal; but where the second one takes part in a
// decision the shortcut stands aside and the regular expression answers.
TEST(Split, ShortcutForAsciiAgreesWithTheExpression) {
  const std::vector<std::string> units = {"a", "Z", "5", " ", "\t", "\n",   "\r",   "'",
                                          "s", "l", "e", "R", "!",  "\x1f", "\x7f", "0"};
  const Pretokenizer pretokenizer(SplitPattern::Qwen35);
  Splitter splitter(pretokenizer);
  const auto words_of = [&](const std::string& text) {
    std::vector<std::string> words;
    splitter.start(text);
    for (std::string_view word; splitter.next(word);) words.emplace_back(word);
    return words;
  };
  std::size_t compared = 0;
  std::vector<std::string> texts{""};
  for (int length = 0; length < 4; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& unit : units) longer.push_back(text + unit);
    }
    for (const std::string& text : longer) {
      const auto plain = words_of(text + "0");
      const auto beside = words_of(text + "０");
      ASSERT_EQ(plain.size(), beside.size()) << ::testing::PrintToString(text);
      for (std::size_t i = 0; i + 1 < plain.size(); ++i)
        ASSERT_EQ(plain[i], beside[i]) << ::testing::PrintToString(text);
      ++compared;
    }
    texts = std::move(longer);
  }
  EXPECT_EQ(compared, 16u + 256u + 4096u + 65536u);
}

TEST(Nfc, ComposesAndOrders) {
  const NfcNormalizer normalizer;
  std::string storage;
  const auto nfc = [&](std::string_view text) { return std::string(normalizer.normalize(text, storage)); };
  EXPECT_EQ(nfc("e\u0301"), "é");
  EXPECT_EQ(nfc("x e\u0301 y"), "x é y");
  EXPECT_EQ(nfc("a\u0301\u0316"),
            "\u00e1\u0316");                 // order of classes: below comes first, acute composes past it
  EXPECT_EQ(nfc("\u212b"), "\u00c5");        // singleton
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");  // excluded from composition
  EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");  // Hangul
  EXPECT_EQ(nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\u1f82"), "\u1f82");        // the longest decomposition, composed again
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");  // a mark that falls apart at the very start
}

TEST(Nfc, LeavesNormalTextWhereItIs) {
  const NfcNormalizer normalizer;
  std::string storage;
  for (const std::string_view text : {"", "ascii", "é Ω ж 한국어 漢字 สวัสดี العَرَبِيَّة"}) {
    EXPECT_EQ(normalizer.normalize(text, storage).data(), text.data()) << text;
  }
}

// Alternating classes, a million marks: utf8proc's own ordering takes a step for every pair.
TEST(Nfc, LongRunsOfMarksAreOrderedQuickly) {
  const NfcNormalizer normalizer;
  std::string text = "q", expected = "q", storage;
  const int pairs = 250'000;
  for (int i = 0; i < pairs; ++i) text += "\u0301\u0316";
  for (int i = 0; i < pairs; ++i) expected += "\u0316";
  for (int i = 0; i < pairs; ++i) expected += "\u0301";
  EXPECT_TRUE(normalizer.normalize(text, storage) == expected);
}

TEST(Characters, SpaceAndWord) {
  for (const std::int32_t c :
       {0x20, 0x09, 0x0d, 0x85, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x202f, 0x205f, 0x3000}) {
    EXPECT_TRUE(is_white_space(c)) << c;
    EXPECT_FALSE(is_word_character(c)) << c;
  }
  for (const std::int32_t c : {0x1f, 0x180e, 0x200b, 0xfeff}) EXPECT_FALSE(is_white_space(c)) << c;
  for (const std::int32_t c : {int{'a'}, int{'_'}, int{'7'}, 0x301, 0x2160, 0x200d, 0x24b6, 0x4e00})
    EXPECT_TRUE(is_word_character(c)) << c;
  for (const std::int32_t c : {int{'-'}, 0xb2, 0x2460, 0x1f600}) EXPECT_FALSE(is_word_character(c)) << c;
}

}  // namespace
}  // namespace redline::text
