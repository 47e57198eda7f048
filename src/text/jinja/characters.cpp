// Code points, white space and case. utf8proc knows the categories; only this file of the interpreter asks
// it.
#include "text/jinja/characters.hpp"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.hpp"

namespace redline::text::jinja {
namespace {

bool continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

utf8proc_category_t category(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

// Characters whose upper case is several characters; simple mappings leave them alone and Python does not.
std::string_view special_upper(char32_t character) {
  switch (character) {
    case 0xDF:
      return "SS";
    case 0x149:
      return "\xCA\xBCN";
    case 0x1F0:
      return "J\xCC\x8C";
    case 0xFB00:
      return "FF";
    case 0xFB01:
      return "FI";
    case 0xFB02:
      return "FL";
    case 0xFB03:
      return "FFI";
    case 0xFB04:
      return "FFL";
    case 0xFB05:
    case 0xFB06:
      return "ST";
    default:
      return {};
  }
}

void append_upper(std::string& out, char32_t character) {
  if (const auto special = special_upper(character); !special.empty()) {
    out += special;
  } else {
    append_character(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(character))));
  }
}

void append_title(std::string& out, char32_t character) {
  if (const auto special = special_upper(character); !special.empty()) {
    out += special.substr(0, 1);
    out += to_lower(special.substr(1));
  } else {
    append_character(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(character))));
  }
}

bool cased(char32_t character) {
  const auto kind = category(character);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

// Greek capital sigma at the end of a word becomes the final form.
void append_lower(std::string& out, std::string_view all, std::size_t begin, std::size_t end,
                  char32_t character) {
  constexpr char32_t kCapitalSigma = 0x3A3;
  if (character == 0x130) {  // capital I with a dot keeps its dot
    out += "i\xCC\x87";
    return;
  }
  if (character != kCapitalSigma) {
    append_character(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character))));
    return;
  }
  bool before = false;
  if (begin > 0) {
    std::size_t at = begin - 1;
    while (at > 0 && continuation(all[at])) --at;
    before = cased(next_character(all, at));
  }
  bool after = false;
  if (end < all.size()) {
    std::size_t at = end;
    after = cased(next_character(all, at));
  }
  append_character(out, before && !after ? 0x3C2 : 0x3C3);
}

}  // namespace

std::size_t count_characters(std::string_view utf8) {
  return utf8.size() - static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), continuation));
}

char32_t next_character(std::string_view utf8, std::size_t& at) {
  const CodePoint point = code_point_at(utf8, at);
  at += point.bytes;
  return static_cast<char32_t>(point.value);
}

void append_character(std::string& utf8, char32_t character) {
  append_utf8(static_cast<std::int32_t>(character), utf8);
}

std::vector<std::string_view> split_characters(std::string_view utf8) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at++;
    while (at < utf8.size() && continuation(utf8[at])) ++at;
    out.push_back(utf8.substr(begin, at - begin));
  }
  return out;
}

std::size_t byte_of_character(std::string_view utf8, std::size_t index) {
  std::size_t at = 0;
  while (at < utf8.size() && index > 0) {
    ++at;
    while (at < utf8.size() && continuation(utf8[at])) ++at;
    --index;
  }
  return at;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_printable(char32_t character) {
  if (character == ' ') return true;
  switch (category(character)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t character) {
  const auto kind = category(character);
  return cased(character) || kind == UTF8PROC_CATEGORY_LM || kind == UTF8PROC_CATEGORY_LO;
}

bool is_digit(char32_t character) { return category(character) == UTF8PROC_CATEGORY_ND; }
bool is_cased_upper(char32_t character) { return category(character) == UTF8PROC_CATEGORY_LU; }
bool is_cased_lower(char32_t character) { return category(character) == UTF8PROC_CATEGORY_LL; }

std::string_view strip(std::string_view utf8, Ends ends, std::optional<std::string_view> characters) {
  const auto goes = [&](std::string_view piece) {
    if (characters) {
      // A whole character of valid UTF-8 is found only where one begins.
      return characters->find(piece) != std::string_view::npos;
    }
    std::size_t at = 0;
    return is_space(next_character(piece, at));
  };
  const auto sides = static_cast<unsigned>(ends);
  while ((sides & 1U) != 0 && !utf8.empty()) {
    std::size_t end = 1;
    while (end < utf8.size() && continuation(utf8[end])) ++end;
    if (!goes(utf8.substr(0, end))) break;
    utf8.remove_prefix(end);
  }
  while ((sides & 2U) != 0 && !utf8.empty()) {
    std::size_t begin = utf8.size() - 1;
    while (begin > 0 && continuation(utf8[begin])) --begin;
    if (!goes(utf8.substr(begin))) break;
    utf8.remove_suffix(utf8.size() - begin);
  }
  return utf8;
}

std::string to_upper(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) append_upper(out, next_character(utf8, at));
  return out;
}

std::string to_lower(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(utf8, at);
    append_lower(out, utf8, begin, at, character);
  }
  return out;
}

std::string to_title(std::string_view utf8) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(utf8, at);
    if (inside) {
      append_lower(out, utf8, begin, at, character);
    } else {
      append_title(out, character);
    }
    inside = cased(character);
  }
  return out;
}

std::string capitalize(std::string_view utf8) {
  std::string out;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const char32_t character = next_character(utf8, at);
    if (begin == 0) {
      append_title(out, character);
    } else {
      append_lower(out, utf8, begin, at, character);
    }
  }
  return out;
}

std::string escape_html(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (const char byte : utf8) {
    switch (byte) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += byte;
    }
  }
  return out;
}

std::string replace_all(std::string_view utf8, std::string_view from, std::string_view to,
                        std::int64_t limit) {
  std::string out;
  std::size_t at = 0;
  if (from.empty()) {  // Python puts `to` before every character and at the end
    for (const std::string_view piece : split_characters(utf8)) {
      if (limit == 0) break;
      out += to;
      out += piece;
      at += piece.size();
      --limit;
    }
    if (limit != 0) out += to;
    out += utf8.substr(at);
    return out;
  }
  while (limit != 0) {
    const std::size_t found = utf8.find(from, at);
    if (found == std::string_view::npos) break;
    out += utf8.substr(at, found - at);
    out += to;
    at = found + from.size();
    --limit;
  }
  out += utf8.substr(at);
  return out;
}

std::vector<std::string_view> split_lines(std::string_view utf8, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t end = at;
    const char32_t c = next_character(utf8, at);
    const bool breaks =
        (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!breaks) continue;
    if (c == '\r' && at < utf8.size() && utf8[at] == '\n') ++at;
    lines.push_back(utf8.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < utf8.size()) lines.push_back(utf8.substr(begin));
  return lines;
}

}  // namespace redline::text::jinja
