// UTF-8 as it comes from outside and as it leaves: where it is broken, and how it is mended.
//
// The one rule: each maximal run of bytes that begins like a character and does not end like one becomes one
// U+FFFD, as Python's errors="replace" and the Unicode standard (chapter 3, "substitution of maximal
// subparts") have it. Utf8Repair is that rule as a machine that is fed in pieces; the others are built on it,
// so that they cannot disagree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redline::text {

class Utf8Repair {
 public:
  void push(std::string_view bytes, std::string& out);  // appends whole characters only
  void finish(std::string& out);                        // appends U+FFFD when a character was left unfinished
  bool pending() const { return count_ != 0; }

 private:
  std::array<char, 4> held_{};  // the begun character
  std::uint8_t count_ = 0;      // how many of its bytes have been seen
  std::uint8_t length_ = 0;     // how many it will have
};

// Offset of the first byte that is not part of a valid character; nothing when the text is valid.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

std::string replace_invalid_utf8(std::string_view text);

// True when no byte has its high bit set.
bool is_ascii(std::string_view text);

// The code point that begins at `position` of valid UTF-8, and its length in bytes.
struct CodePoint {
  std::int32_t value;
  std::uint32_t bytes;
};
CodePoint code_point_at(std::string_view valid_text, std::size_t position);
CodePoint code_point_before(std::string_view valid_text, std::size_t position);  // position > 0

void append_utf8(std::int32_t code_point, std::string& out);

}  // namespace redline::text
