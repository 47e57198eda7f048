// tokenizer.json as plain values: byte-level BPE with the parts that the Qwen families use.
//
// Whatever else a file asks for is an Error that names the file, the line, the construct and what is
// understood, so that no text is ever encoded by half of its rules. Everything is checked here: ids are
// nearly dense and unique, merges lead from tokens to tokens, every byte that can occur in text has a token.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.hpp"
#include "text/pretokenize.hpp"

namespace redline::text {

// A token that is found in the raw text rather than made by merges.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // swallows white space before it
  bool rstrip = false;       // … and after it
  bool normalized = false;   // looked for after NFC instead of before
  bool special = false;      // left out of decoded text on request
};

struct TokenizerFile {
  std::string name;  // for messages: the path
  std::vector<std::string>
      pieces;  // [vocabulary] bytes that each id stands for; an empty one is not assigned
  std::array<std::int32_t, 256> byte_ids{};
  std::vector<Merge> merges;
  std::vector<AddedToken> added_tokens;  // in the file's order
  std::vector<bool> reachable;  // [vocabulary] may equal a whole word: spelt in the byte alphabet only
  bool ignore_merges = false;   // a word that is a token is that token, whatever the merges say
  bool nfc = false;
  SplitPattern split = SplitPattern::Qwen35;
};

// `path`: the file, or the folder that holds a tokenizer.json.
TokenizerFile read_tokenizer_file(const std::filesystem::path& path);
TokenizerFile read_tokenizer_json(std::string_view json, std::string_view name);

}  // namespace redline::text
