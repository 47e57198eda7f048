// Escapes of control characters, C0 and DEL in ASCII and C1 in UTF-8 (U+0080 to U+009F, bytes c2 80 to c2
// 9f).
#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace redline {
namespace {

void append_escaped(std::string& out, std::string_view text, bool line_ends) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) {
      out += fmt::format("\\x{:02x}", next);
      ++i;
    } else if ((byte < 0x20 && (line_ends || byte != '\n')) || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += text[i];
    }
  }
}

}  // namespace

std::string without_controls(std::string_view text) {
  std::string out;
  append_escaped(out, text, false);
  return out;
}

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 200;
  std::size_t length = std::min(name.size(), kShown);
  // Not in the middle of a character: continuation bytes are 10xxxxxx.
  while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80)
    --length;
  std::string out;
  append_escaped(out, name.substr(0, length), true);
  if (length < name.size()) out += "…";
  return out;
}

}  // namespace redline
