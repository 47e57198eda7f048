// tokenizer.json between parsing and checking: what the file says, not yet what it means. Used by
// tokenizer_file.cpp, which fills it, and tokenizer_rules.cpp, which turns it into a TokenizerFile or says
// which line it cannot follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "text/tokenizer_file.hpp"

namespace redline::text {

// The file's text, to turn offsets into lines.
struct JsonSource {
  std::string_view name;
  std::string_view json;
  [[noreturn]] void refuse(ErrorKind kind, std::size_t offset, std::string_view message) const;
};

// An object with a "type": normaliser, pre-tokenizer, post-processor or decoder. Absent and null are the
// same.
struct Component {
  std::string field;       // "pre_tokenizer.pretokenizers[0]"
  std::size_t offset = 0;  // where it stands in the file
  bool present = false;
  std::string type;
  std::optional<std::string> regex;  // pattern.Regex
  std::optional<std::string> behavior;
  std::optional<bool> invert, add_prefix_space, use_regex;
  bool adds_tokens = false;          // a template with more than the text in it
  std::vector<std::string> unknown;  // field names that are not understood
  std::vector<Component> children;   // of a Sequence
};

struct VocabularyEntry {
  std::string_view spelling;  // in the byte alphabet
  std::int64_t id = 0;
  std::size_t offset = 0;
};

struct MergeEntry {
  std::string_view left, right;
  std::size_t offset = 0;
};

struct AddedEntry {
  AddedToken token;
  std::int64_t id = -1;  // as the file has it
  std::size_t offset = 0;
};

struct TokenizerParts {  // views point into the parser's memory
  std::vector<AddedEntry> added_tokens;
  Component normalizer, pre_tokenizer, post_processor, decoder;
  TokenizerParts() {  // a part that is missing has a name all the same
    normalizer.field = "normalizer";
    pre_tokenizer.field = "pre_tokenizer";
    post_processor.field = "post_processor";
    decoder.field = "decoder";
  }
  std::optional<std::string> model_type;
  std::size_t model_offset = 0;
  bool ignore_merges = false;
  std::vector<VocabularyEntry> vocabulary;
  std::vector<MergeEntry> merges;
};

TokenizerFile apply_rules(const TokenizerParts& parts, const JsonSource& source);

}  // namespace redline::text
