// What a terminal would obey never reaches one: names, messages and log lines from files.
#include "core/printable.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace redline {
namespace {

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[31mb\n\r\t\x7f"), "a\\x1b[31mb\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(printable(std::string("\0z", 2)), "\\x00z");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");  // one-character form of ESC [
  EXPECT_EQ(printable("é 語 \xc2\xa0"), "é 語 \xc2\xa0");
  EXPECT_EQ(printable("\xc2"), "\xc2");  // a lone first byte is no control character
}

TEST(Printable, CutsAtACharactersBorder) {
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(printable(std::string(201, 'x')), std::string(200, 'x') + "…");
  EXPECT_EQ(printable(std::string(199, 'x') + "語"), std::string(199, 'x') + "…");
}

TEST(Printable, MessagesKeepTheirLines) {
  EXPECT_EQ(without_controls("one\ntwo\x07"), "one\ntwo\\x07");
  const Error error(ErrorKind::BadCheckpoint, "shard \x1b]0;title\x07\nsecond");
  EXPECT_STREQ(error.what(), "shard \\x1b]0;title\\x07\nsecond");
}

}  // namespace
}  // namespace redline
