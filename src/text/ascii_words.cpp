// Alternatives are tried in the pattern's order (docs: Qwen's tokenizer.json; numbers as in the comments
// below):
//   1 contractions  2 one odd character, then letters  3 one digit  4 optional space, then odd characters,
//   then line ends 5 space up to the last line end  6 space but its last character before a word  7 space
#include "text/ascii_words.hpp"

#include <array>
#include <cstdint>

namespace redline::text {
namespace {

enum Class : std::uint8_t { Odd, Letter, Digit, Space, LineEnd, Beyond };

constexpr std::array<Class, 256> make_classes() {
  std::array<Class, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    Class& out = classes[static_cast<std::size_t>(c)];
    if (c >= 0x80) {
      out = Beyond;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out = Letter;
    } else if (c >= '0' && c <= '9') {
      out = Digit;
    } else if (c == '\r' || c == '\n') {
      out = LineEnd;
    } else if (c == ' ' || (c >= 9 && c <= 13)) {
      out = Space;
    }
  }
  return classes;
}
constexpr std::array<Class, 256> kClasses = make_classes();

// A text with its end treated as a class of its own (Digit never extends a run, so it stands for "nothing
// more").
struct View {
  std::string_view text;
  Class at(std::size_t i) const {
    return i < text.size() ? kClasses[static_cast<std::uint8_t>(text[i])] : Digit;
  }
  char lower(std::size_t i) const { return i < text.size() ? static_cast<char>(text[i] | 0x20) : '\0'; }
};

// Length of a contraction behind the apostrophe at `position`, without it; 0 when there is none.
std::size_t contraction(const View& view, std::size_t position) {
  const char first = view.lower(position + 1), second = view.lower(position + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 1;
  if ((first == 'r' || first == 'v') && second == 'e') return 2;
  return first == 'l' && second == 'l' ? 2 : 0;
}

std::size_t space_length(const View& view, std::size_t position) {
  std::size_t end = position, after_line_end = position;
  for (;; ++end) {
    const Class here = view.at(end);
    if (here == LineEnd) after_line_end = end + 1;
    if (here != Space && here != LineEnd) break;
  }
  if (view.at(end) == Beyond) return 0;                             // may be space as well
  if (after_line_end > position) return after_line_end - position;  // 5
  const std::size_t length = end - position;
  return end == view.text.size() || length == 1 ? length : length - 1;  // 6, 7
}

}  // namespace

std::size_t ascii_word_length(std::string_view text, std::size_t position) {
  const View view{text};
  const Class first = view.at(position), second = view.at(position + 1);
  if (first == Beyond) return 0;
  if (first == Digit) return 1;  // 3; a mark behind it belongs to the next word
  if (text[position] == '\'') {
    if (second == Beyond) return 0;  // U+017F equals "s" when case is ignored
    if (const std::size_t length = contraction(view, position); length > 0) return 1 + length;  // 1
  }
  if (first == Letter || (first != LineEnd && second == Letter)) {  // 2
    std::size_t end = position + 1;
    while (view.at(end) == Letter) ++end;
    return view.at(end) == Beyond ? 0 : end - position;
  }
  if (first != LineEnd && second == Beyond) return 0;              // a letter beyond ASCII would make it 2
  if (first == Odd || (text[position] == ' ' && second == Odd)) {  // 4
    std::size_t end = position + 1;
    while (view.at(end) == Odd) ++end;
    if (view.at(end) == Beyond) return 0;
    while (view.at(end) == LineEnd) ++end;
    return end - position;
  }
  return space_length(view, position);
}

}  // namespace redline::text
