// The table of well-formed byte sequences (Unicode standard, table 3-7) as code.
#include "text/utf8.hpp"

#include <cstring>

namespace redline::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

// Length of the character that `lead` begins; 0 when no character begins so.
constexpr int length_of(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // continuation bytes, and leads of overlong forms
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// Whether `next` may follow as the second byte: this is where overlong forms, surrogates and values past
// U+10FFFF end.
constexpr bool second_fits(std::uint8_t lead, std::uint8_t next) {
  switch (lead) {
    case 0xE0:
      return next >= 0xA0 && next <= 0xBF;
    case 0xED:
      return next >= 0x80 && next <= 0x9F;
    case 0xF0:
      return next >= 0x90 && next <= 0xBF;
    case 0xF4:
      return next >= 0x80 && next <= 0x8F;
    default:
      return next >= 0x80 && next <= 0xBF;
  }
}

constexpr bool continues(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// First position at or after `from` that holds a byte with the high bit set.
std::size_t skip_ascii(std::string_view text, std::size_t from) {
  while (from + 8 <= text.size()) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + from, 8);
    if ((word & 0x8080808080808080U) != 0) break;
    from += 8;
  }
  while (from < text.size() && byte_of(text[from]) < 0x80) ++from;
  return from;
}

}  // namespace

bool is_ascii(std::string_view text) { return skip_ascii(text, 0) == text.size(); }

void Utf8Repair::push(std::string_view bytes, std::string& out) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    const std::uint8_t byte = byte_of(bytes[i]);
    if (count_ == 0) {
      const std::size_t run_end = skip_ascii(bytes, i);
      out.append(bytes, i, run_end - i);
      if (run_end == bytes.size()) return;
      i = run_end + 1;
      const std::uint8_t lead = byte_of(bytes[run_end]);
      length_ = static_cast<std::uint8_t>(length_of(lead));
      if (length_ == 0) {
        out += kReplacement;
      } else {
        held_[0] = bytes[run_end];
        count_ = 1;
      }
      continue;
    }
    const bool fits = count_ == 1 ? second_fits(byte_of(held_[0]), byte) : continues(byte);
    if (!fits) {  // the byte is looked at again: it may begin a character of its own
      out += kReplacement;
      count_ = 0;
      continue;
    }
    held_[count_++] = bytes[i++];
    if (count_ == length_) {
      out.append(held_.data(), count_);
      count_ = 0;
    }
  }
}

void Utf8Repair::finish(std::string& out) {
  if (count_ != 0) out += kReplacement;
  count_ = 0;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t i = skip_ascii(text, 0);
  while (i < text.size()) {
    const std::uint8_t lead = byte_of(text[i]);
    const auto length = static_cast<std::size_t>(length_of(lead));
    if (length == 0 || i + length > text.size()) return i;
    if (length == 1) {
      i = skip_ascii(text, i);
      continue;
    }
    if (!second_fits(lead, byte_of(text[i + 1]))) return i;
    for (std::size_t k = 2; k < length; ++k) {
      if (!continues(byte_of(text[i + k]))) return i;
    }
    i += length;
  }
  return std::nullopt;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  Utf8Repair repair;
  repair.push(text, out);
  repair.finish(out);
  return out;
}

CodePoint code_point_at(std::string_view valid_text, std::size_t position) {
  const char* at = valid_text.data() + position;
  const std::uint8_t lead = byte_of(at[0]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {((lead & 0x1F) << 6) | (byte_of(at[1]) & 0x3F), 2};
  if (lead < 0xF0)
    return {((lead & 0x0F) << 12) | ((byte_of(at[1]) & 0x3F) << 6) | (byte_of(at[2]) & 0x3F), 3};
  return {((lead & 0x07) << 18) | ((byte_of(at[1]) & 0x3F) << 12) | ((byte_of(at[2]) & 0x3F) << 6) |
              (byte_of(at[3]) & 0x3F),
          4};
}

CodePoint code_point_before(std::string_view valid_text, std::size_t position) {
  do --position;
  while (continues(byte_of(valid_text[position])));
  return code_point_at(valid_text, position);
}

void append_utf8(std::int32_t code_point, std::string& out) {
  const auto c = static_cast<std::uint32_t>(code_point);
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace redline::text
