// Mending and finding broken UTF-8. Expected values: the Unicode standard's own table on substitution
// (chapter 3, tables 3-8 to 3-11), and what Python's bytes.decode("utf-8", "replace") prints for them.
#include "text/utf8.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace redline::text {
namespace {

using namespace std::string_literals;

struct Example {
  std::string bytes;
  std::string mended;
  std::size_t first_wrong;
};

const std::string kR = "\xEF\xBF\xBD";

std::vector<Example> examples() {
  return {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", kR + kR + kR + kR + kR + kR + kR + kR + "A",
       0},  // 3-8: overlong
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", kR + kR + kR + kR + kR + kR + kR + kR + "A",
       0},  // 3-9: surrogates
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", kR + kR + kR + kR + kR + "A" + kR + kR + "B",
       0},                                                                   // 3-10: others
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", kR + kR + kR + kR + "A", 0},  // 3-11: cut short
      {"ab\xE2\x82", "ab" + kR, 2},
      {"\xF0\x9F\x98\x80\xF0\x9F\x98", "\xF0\x9F\x98\x80" + kR, 4},
      {"12345678\x80", "12345678" + kR, 8},
      {"\0\xC3\xA9\xC3"s, "\0\xC3\xA9"s + kR, 3},
  };
}

TEST(Utf8, MendsAsTheStandardDoes) {
  for (const Example& example : examples()) {
    EXPECT_EQ(replace_invalid_utf8(example.bytes), example.mended);
    EXPECT_EQ(find_invalid_utf8(example.bytes), example.first_wrong);
    EXPECT_EQ(find_invalid_utf8(example.mended), std::nullopt);
  }
}

TEST(Utf8, PiecesChangeNothing) {
  for (const Example& example : examples()) {
    for (unsigned cuts = 0; cuts < (1U << (example.bytes.size() - 1)); ++cuts) {
      Utf8Repair repair;
      std::string out, piece;
      for (std::size_t i = 0; i < example.bytes.size(); ++i) {
        piece += example.bytes[i];
        if (((cuts >> i) & 1U) == 0) continue;
        repair.push(piece, out);
        EXPECT_EQ(find_invalid_utf8(out), std::nullopt) << "half a character was let through";
        piece.clear();
      }
      repair.push(piece, out);
      repair.finish(out);
      EXPECT_EQ(out, example.mended);
    }
  }
}

TEST(Utf8, EveryCodePointRoundTrips) {
  for (std::int32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string bytes;
    append_utf8(c, bytes);
    ASSERT_EQ(find_invalid_utf8(bytes), std::nullopt) << c;
    const CodePoint back = code_point_at(bytes, 0);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.bytes, bytes.size());
    ASSERT_EQ(code_point_before("x" + bytes, bytes.size() + 1).value, c);
  }
}

TEST(Utf8, Ascii) {
  EXPECT_TRUE(is_ascii(""));
  EXPECT_TRUE(is_ascii("0123456789\x7f"));
  EXPECT_FALSE(is_ascii("01234567890123456\x80"));
}

}  // namespace
}  // namespace redline::text
