// The byte-level alphabet: tokenizer.json spells every byte as one printable character, so that a vocabulary
// of bytes fits into JSON strings. Printable Latin-1 stands for itself, the other 68 bytes follow from U+0100
// on, in order.
#pragma once

#include <array>
#include <cstdint>

namespace redline::text {

constexpr std::int32_t kByteAlphabetEnd = 0x144;  // 0x100 + 68

constexpr bool is_its_own_character(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

// [code point] -> byte, -1 for characters outside the alphabet.
constexpr std::array<std::int16_t, kByteAlphabetEnd> make_byte_alphabet() {
  std::array<std::int16_t, kByteAlphabetEnd> bytes{};
  for (auto& byte : bytes) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bytes[static_cast<std::size_t>(is_its_own_character(byte) ? byte : next++)] =
        static_cast<std::int16_t>(byte);
  }
  return bytes;
}
inline constexpr std::array<std::int16_t, kByteAlphabetEnd> kByteAlphabet = make_byte_alphabet();

}  // namespace redline::text
