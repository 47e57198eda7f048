// Text to token ids and back, exactly as the reference tokenizer of the family does it.
//
// Control tokens. A chat is told apart by tokens such as <|im_start|>, <think> or <tool_call>, and text from
// users and tools must not be able to forge them. So there are two ways to encode:
//   Specials::AsText  every added token of the file is ordinary text; what comes out is made by merges alone.
//   This holds
//                     for all of them, whether the file calls them special or not: <think> and <tool_call>
//                     are not "special" in the published files and steer the parsers all the same, and
//                     telling a fine-tune's harmless extra word from its home-made marker is not possible
//                     from the flags.
//   Specials::Parse   added tokens are found in the text, for prompts that a template made.
// encode_around() is for the mixture: a rendered prompt with the ranges that came from outside.
//
// Decoding keeps what the file does not call special even when special tokens are skipped: output parsers
// need
// </think> and <tool_call>.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.hpp"
#include "text/pretokenize.hpp"
#include "text/token_index.hpp"
#include "text/tokenizer_file.hpp"

namespace redline::text {

enum class Specials : std::uint8_t { AsText, Parse };

struct ByteRange {
  std::size_t begin = 0, end = 0;
};

// Immutable after construction: any number of threads may share one.
class Tokenizer {
 public:
  explicit Tokenizer(TokenizerFile file);
  static Tokenizer load(const std::filesystem::path& path);  // a tokenizer.json, or a folder that has one

  // `text` must be UTF-8, else BadInput with the offset (replace_invalid_utf8() of text/utf8.hpp mends it).
  std::vector<std::int32_t> encode(std::string_view text, Specials specials = Specials::AsText) const;

  // As Specials::Parse, but no added token is found where it would touch one of `foreign`, ranges of bytes in
  // ascending order that came from outside.
  std::vector<std::int32_t> encode_around(std::string_view text, std::span<const ByteRange> foreign) const;

  // Bytes that are not UTF-8 come out as U+FFFD. Ids outside the vocabulary are BadInput.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = false) const;

  // The bytes of one token, which need not be whole characters; empty for an id inside the vocabulary that no
  // token has.
  std::string_view piece(std::int32_t id) const;
  std::optional<std::int32_t> id_of(std::string_view bytes) const;  // added tokens by their content

  std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(piece_begin_.size()) - 1; }
  bool is_special(std::int32_t id) const;  // left out when special tokens are skipped
  std::span<const AddedToken> added_tokens() const { return added_tokens_; }

 private:
  // Added tokens sorted by what is looked for, so that the longest one at a place is found by narrowing a
  // range.
  struct Markers {
    struct Marker {
      std::string text;   // content, in NFC when it is looked for in normalised text
      std::size_t token;  // index into added_tokens_
    };
    std::vector<Marker> sorted;
    std::array<bool, 256> begins{};  // first bytes
    // The longest marker at `position`, or nullptr. None that ends behind `limit`.
    const Marker* longest_at(std::string_view text, std::size_t position, std::size_t limit) const;
  };
  struct Encoding;  // one call's working memory

  void build_markers();
  void check_id(std::int32_t id) const;
  std::string_view text_of(std::int32_t id) const {
    const auto i = static_cast<std::size_t>(id);
    return std::string_view(piece_bytes_).substr(piece_begin_[i], piece_begin_[i + 1] - piece_begin_[i]);
  }
  template <class OnText>
  void cut_at_markers(std::string_view text, const Markers& markers, std::span<const ByteRange> foreign,
                      Encoding& encoding, const OnText& on_text) const;
  void encode_raw(std::string_view text, bool parse, Encoding& encoding) const;
  void encode_normal(std::string_view text, Encoding& encoding) const;
  std::vector<std::int32_t> run(std::string_view text, bool parse, std::span<const ByteRange> foreign) const;

  std::string name_;
  std::string piece_bytes_;                 // all pieces, one behind the other
  std::vector<std::uint32_t> piece_begin_;  // [vocabulary + 1]
  std::vector<bool> special_;               // [vocabulary]
  TokenIndex index_;                        // of pieces
  TokenIndex whole_words_;                  // with ignore_merges: pieces that a word may equal
  bool ignore_merges_ = false;
  std::vector<AddedToken> added_tokens_;
  Markers raw_markers_, normal_markers_;
  std::optional<NfcNormalizer> normalizer_;
  Pretokenizer pretokenizer_;
  Bpe bpe_;
};

}  // namespace redline::text
