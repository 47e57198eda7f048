// A tokenizer.json small enough to work out by hand: the 256 bytes are tokens 0 to 255, then
//   256 he · 257 ll · 258 hell · 259 hello · 260 "é" (two bytes) · 261 "<|im_start|>" special · 262 "<think>"
//   not special
#pragma once

#include <string>
#include <string_view>

#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace redline::test {

inline std::string tiny_vocabulary() {
  std::string out;
  for (std::int32_t point = 0; point < text::kByteAlphabetEnd; ++point) {
    const int byte = text::kByteAlphabet[static_cast<std::size_t>(point)];
    if (byte < 0) continue;
    out += '"';
    if (point == '"' || point == '\\') out += '\\';
    text::append_utf8(point, out);
    out += "\": " + std::to_string(byte) + ",\n";
  }
  return out + R"("he": 256, "ll": 257, "hell": 258, "hello": 259, "Ã©": 260)";
}

// Each part may be replaced by a test.
struct TinyTokenizer {
  std::string added_tokens = R"([
    {"id": 261, "content": "<|im_start|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
    {"id": 262, "content": "<think>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false}])";
  std::string normalizer = R"({"type": "NFC"})";
  std::string pre_tokenizer = R"JSON({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})JSON";
  std::string post_processor = "null";
  std::string decoder =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false})";
  std::string model_head = R"("type": "BPE", "dropout": null, "unk_token": null, "ignore_merges": false)";
  std::string vocabulary = tiny_vocabulary();
  std::string merges = R"(["h e", "l l", "he ll", "hell o", "Ã ©"])";

  std::string json() const {
    return "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null,\n\"added_tokens\": " +
           added_tokens + ",\n\"normalizer\": " + normalizer + ",\n\"pre_tokenizer\": " + pre_tokenizer +
           ",\n\"post_processor\": " + post_processor + ",\n\"decoder\": " + decoder + ",\n\"model\": {" +
           model_head + ",\n\"vocab\": {" + vocabulary + "},\n\"merges\": " + merges + "}}\n";
  }
};

}  // namespace redline::test
