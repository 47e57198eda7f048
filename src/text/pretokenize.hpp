// What happens to text before byte-pair encoding: NFC normalisation and the cut into words.
//
// The patterns are a closed list, not whatever a file says: the reference library runs another
// regular-expression engine than ours, and only for patterns that were compared with it can equal ids be
// promised. PCRE2 and utf8proc stay behind this header. All objects here but Splitter are immutable and may
// be shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redline::text {

enum class SplitPattern : std::uint8_t { Qwen35, Qwen2, Gpt2 };

std::string_view regex_of(SplitPattern pattern);  // as tokenizer.json spells it
std::optional<SplitPattern> split_pattern_from_regex(std::string_view regex);

// Canonical composition. All texts are valid UTF-8.
class NfcNormalizer {
 public:
  NfcNormalizer();
  // `text` itself when it is in NFC already, else a view of `storage`, which then holds the composed text.
  std::string_view normalize(std::string_view text, std::string& storage) const;

 private:
  std::uint8_t class_of(std::int32_t code_point) const {
    return code_point < 0x300 || code_point >= kEnd ? kStarter
                                                    : classes_[static_cast<std::size_t>(code_point)];
  }
  std::size_t find_doubt(std::string_view text, std::size_t from) const;

  static constexpr std::int32_t kEnd =
      0x30000;  // beyond are ideographs, tags and private use, which NFC never touches
  static constexpr std::uint8_t kStarter =
      0;  // combining class 0, unchanged by NFC, never composed with what precedes
  static constexpr std::uint8_t kDoubt = 255;  // NFC changes it, or may compose it with what precedes
  std::unique_ptr<std::uint8_t[]> classes_;    // [kEnd]; other values are combining classes
};

// Character classes that flags of added tokens ask for.
bool is_white_space(std::int32_t code_point);
bool is_word_character(std::int32_t code_point);

class Pretokenizer {
 public:
  explicit Pretokenizer(SplitPattern pattern);
  ~Pretokenizer();
  Pretokenizer(Pretokenizer&&) noexcept;
  Pretokenizer& operator=(Pretokenizer&&) noexcept;

 private:
  friend class Splitter;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// Walks over the words of one text after another; each thread has its own.
class Splitter {
 public:
  explicit Splitter(const Pretokenizer& pretokenizer);
  ~Splitter();
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  void start(std::string_view valid_text);
  bool next(std::string_view& word);  // words follow each other without gaps

 private:
  std::size_t match_end();  // end of the word at position_, by PCRE2
  struct Workspace;
  const Pretokenizer::Compiled& compiled_;
  std::unique_ptr<Workspace> workspace_;  // made on the first non-ASCII word
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace redline::text
