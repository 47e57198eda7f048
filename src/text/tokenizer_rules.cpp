// Turns what tokenizer.json says into what the encoder needs, and refuses what it would have to guess.
#include <algorithm>

#include "text/byte_alphabet.hpp"
#include "text/token_index.hpp"
#include "text/tokenizer_parts.hpp"
#include "text/utf8.hpp"

namespace redline::text {
namespace {

constexpr std::string_view kDecodable = "expected ByteLevel";

// Ids are list indices here, so a single huge one must not decide how much memory is taken.
constexpr std::int64_t kMostUnassigned = 65536;

class Rules {
 public:
  Rules(const TokenizerParts& parts, const JsonSource& source) : parts_(parts), source_(source) {}

  TokenizerFile apply() {
    file_.name = source_.name;
    normalizer(parts_.normalizer);
    pre_tokenizer();
    post_processor(parts_.post_processor);
    decoder(parts_.decoder);
    model();
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const Component& part, std::string_view expected) const {
    const std::string found = !part.present       ? "null"
                              : part.type.empty() ? "without a type"
                                                  : fmt::format("\"{}\"", part.type);
    source_.refuse(ErrorKind::Unsupported, part.offset,
                   fmt::format("{} is {}, {}", part.field, found, expected));
  }
  void no_unknown_fields(const Component& part) const {
    if (part.unknown.empty()) return;
    source_.refuse(ErrorKind::Unsupported, part.offset,
                   fmt::format("{} of type {} has a field \"{}\" that is not known", part.field, part.type,
                               part.unknown[0]));
  }

  void normalizer(const Component& part) {
    if (!part.present) return;
    no_unknown_fields(part);
    if (part.type == "Sequence" && part.children.size() <= 1) {
      for (const Component& child : part.children) normalizer(child);
    } else if (part.type == "NFC") {
      file_.nfc = true;
    } else {
      refuse(part, "expected null, NFC or a Sequence of one NFC");
    }
  }

  void pre_tokenizer() {
    const Component& part = parts_.pre_tokenizer;
    no_unknown_fields(part);
    if (part.present && part.type == "ByteLevel") {
      byte_level(part, true);
      file_.split = SplitPattern::Gpt2;
      return;
    }
    if (!part.present || part.type != "Sequence" || part.children.size() != 2) {
      refuse(part, "expected a Sequence of Split and ByteLevel, or ByteLevel alone");
    }
    split(part.children[0]);
    byte_level(part.children[1], false);
  }

  void split(const Component& part) {
    if (!part.present || part.type != "Split") refuse(part, "expected Split");
    no_unknown_fields(part);
    const auto need = [&](bool holds, std::string_view what) {
      if (!holds)
        source_.refuse(ErrorKind::Unsupported, part.offset, fmt::format("{}: {}", part.field, what));
    };
    need(part.behavior == "Isolated",
         fmt::format("behavior is \"{}\", expected \"Isolated\"", part.behavior.value_or("")));
    need(!part.invert.value_or(false), "invert is true, expected false");
    need(part.regex.has_value(), "has no pattern, expected {\"Regex\": …}");
    const auto known = split_pattern_from_regex(*part.regex);
    need(known.has_value(),
         fmt::format("pattern {} is not known, expected that of Qwen3.5 ({}) or of Qwen2 and Qwen3 ({})",
                     *part.regex, regex_of(SplitPattern::Qwen35), regex_of(SplitPattern::Qwen2)));
    file_.split = *known;
  }

  void byte_level(const Component& part, bool use_regex) {
    if (!part.present || part.type != "ByteLevel") refuse(part, kDecodable);
    no_unknown_fields(part);
    if (part.add_prefix_space.value_or(true)) {
      source_.refuse(ErrorKind::Unsupported, part.offset,
                     fmt::format("{}: add_prefix_space is true, expected false", part.field));
    }
    if (part.use_regex.value_or(true) != use_regex) {
      source_.refuse(ErrorKind::Unsupported, part.offset,
                     fmt::format("{}: use_regex is {}, expected {} {}", part.field, !use_regex, use_regex,
                                 use_regex ? "without a Split before it" : "after a Split"));
    }
  }

  void post_processor(const Component& part) {
    if (!part.present) return;
    no_unknown_fields(part);
    if (part.type == "Sequence") {
      for (const Component& child : part.children) post_processor(child);
    } else if (part.type == "TemplateProcessing" && part.adds_tokens) {
      source_.refuse(
          ErrorKind::Unsupported, part.offset,
          fmt::format("{} adds tokens to every text, expected a template that adds none", part.field));
    } else if (part.type != "TemplateProcessing" && part.type != "ByteLevel") {
      refuse(part, "expected null, ByteLevel or a TemplateProcessing that adds no tokens");
    }
  }

  void decoder(const Component& part) {
    if (part.present && part.type == "Sequence" && part.children.size() == 1)
      return decoder(part.children[0]);
    if (!part.present || part.type != "ByteLevel") refuse(part, kDecodable);
    no_unknown_fields(part);
  }

  void model() {
    if (parts_.model_type != "BPE")
      source_.refuse(ErrorKind::Unsupported, parts_.model_offset, "model has no type, expected \"BPE\"");
    file_.ignore_merges = parts_.ignore_merges;
    pieces();
    bytes();
    merges();
  }

  std::int64_t check_id(std::int64_t id, std::size_t offset, std::string_view what) const {
    const auto limit =
        static_cast<std::int64_t>(parts_.vocabulary.size() + parts_.added_tokens.size()) + kMostUnassigned;
    if (id < 0 || id >= limit) {
      source_.refuse(ErrorKind::BadCheckpoint, offset,
                     fmt::format("token \"{}\" has id {}, expected 0 to {} in a file of {} tokens", what, id,
                                 limit - 1, limit - kMostUnassigned));
    }
    return id;
  }

  void pieces() {
    std::int64_t size = 0;
    for (const auto& entry : parts_.vocabulary)
      size = std::max(size, check_id(entry.id, entry.offset, entry.spelling) + 1);
    for (const auto& entry : parts_.added_tokens) {
      size = std::max(size, check_id(entry.id, entry.offset, entry.token.content) + 1);
    }
    spellings_.resize(static_cast<std::size_t>(size));
    file_.pieces.resize(static_cast<std::size_t>(size));
    file_.reachable.resize(static_cast<std::size_t>(size));
    index_ = TokenIndex(parts_.vocabulary.size() + parts_.added_tokens.size());
    for (const auto& entry : parts_.vocabulary) {
      const auto id = static_cast<std::size_t>(entry.id);
      claim(entry.spelling, entry.id, entry.offset);
      file_.reachable[id] = decode_piece(entry.spelling, file_.pieces[id]);
    }
    file_.added_tokens.reserve(
        parts_.added_tokens.size());  // spellings_ and index_ keep views of their texts
    for (const auto& entry : parts_.added_tokens) {
      if (entry.token.content.empty())
        source_.refuse(ErrorKind::BadCheckpoint, entry.offset, "an added token is empty");
      AddedToken& token = file_.added_tokens.emplace_back(entry.token);
      token.id = static_cast<std::int32_t>(entry.id);
      const auto id = static_cast<std::size_t>(entry.id);
      if (spellings_[id] != token.content)
        claim(token.content, entry.id, entry.offset);  // it may be in the vocabulary too
      file_.pieces[id].clear();
      decode_piece(shown_content(token), file_.pieces[id]);
    }
    std::vector<bool> seen(file_.pieces.size());
    for (std::size_t i = 0; i < file_.added_tokens.size(); ++i) {
      const auto id = static_cast<std::size_t>(file_.added_tokens[i].id);
      if (seen[id]) {
        source_.refuse(ErrorKind::BadCheckpoint, parts_.added_tokens[i].offset,
                       fmt::format("added token \"{}\" is listed twice", file_.added_tokens[i].content));
      }
      seen[id] = true;
    }
  }

  // Gives `id` to `spelling`, unless one of them is taken.
  void claim(std::string_view spelling, std::int64_t id, std::size_t offset) {
    std::string_view& place = spellings_[static_cast<std::size_t>(id)];
    if (place.data() != nullptr) {
      source_.refuse(ErrorKind::BadCheckpoint, offset,
                     fmt::format("tokens \"{}\" and \"{}\" both have id {}", place, spelling, id));
    }
    place = spelling;
    const std::int32_t holder = index_.insert(spelling, static_cast<std::int32_t>(id), text_of());
    if (holder != id) {
      source_.refuse(ErrorKind::BadCheckpoint, offset,
                     fmt::format("token \"{}\" has two ids, {} and {}", spelling, holder, id));
    }
  }

  // A token that is looked for in normalised text is also shown so; files with such tokens beyond ASCII are
  // rare.
  std::string shown_content(const AddedToken& token) const {
    if (!token.normalized || !file_.nfc || is_ascii(token.content)) return token.content;
    std::string storage;
    return std::string(NfcNormalizer().normalize(token.content, storage));
  }

  // The bytes that a spelling stands for. A character outside the byte alphabet makes the whole spelling
  // stand for itself (and unreachable by merges, which only ever see the alphabet).
  static bool decode_piece(std::string_view spelling, std::string& out) {
    for (std::size_t i = 0; i < spelling.size();) {
      const CodePoint here = code_point_at(spelling, i);
      const int byte =
          here.value < kByteAlphabetEnd ? kByteAlphabet[static_cast<std::size_t>(here.value)] : -1;
      if (byte < 0) {
        out = spelling;
        return false;
      }
      out += static_cast<char>(byte);
      i += here.bytes;
    }
    return true;
  }

  void bytes() {
    for (std::int32_t point = 0; point < kByteAlphabetEnd; ++point) {
      const int byte = kByteAlphabet[static_cast<std::size_t>(point)];
      if (byte < 0) continue;
      std::string spelling;
      append_utf8(point, spelling);
      const std::int32_t id = index_.find(spelling, text_of());
      const bool in_text = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;  // the others never occur in UTF-8
      if (id == TokenIndex::kNone && in_text) {
        source_.refuse(
            ErrorKind::BadCheckpoint, parts_.model_offset,
            fmt::format("model.vocab lacks \"{}\", the token of byte 0x{:02X}, expected one for every byte",
                        spelling, byte));
      }
      file_.byte_ids[static_cast<std::size_t>(byte)] = id;
    }
  }

  // Half a million look-ups in a table that no cache holds: the memory of those to come is asked for ahead of
  // time, and results need none where tokens are numbered in the order of their merges, as trainers number
  // them.
  void merges() {
    constexpr std::size_t kAhead = 8;
    file_.merges.reserve(parts_.merges.size());
    std::string joined;
    std::int32_t last_result = TokenIndex::kNone;
    for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
      if (rank + kAhead < parts_.merges.size()) {
        index_.prefetch(parts_.merges[rank + kAhead].left);
        index_.prefetch(parts_.merges[rank + kAhead].right);
      }
      const MergeEntry& entry = parts_.merges[rank];
      joined.assign(entry.left).append(entry.right);
      const auto next = static_cast<std::size_t>(last_result + 1);
      const bool in_order = next < spellings_.size() && spellings_[next] == joined;
      last_result = in_order ? last_result + 1 : id_in_merge(rank, joined);
      file_.merges.push_back({id_in_merge(rank, entry.left), id_in_merge(rank, entry.right), last_result});
    }
  }

  std::int32_t id_in_merge(std::size_t rank, std::string_view spelling) const {
    const std::int32_t id = index_.find(spelling, text_of());
    if (id == TokenIndex::kNone) {
      const MergeEntry& entry = parts_.merges[rank];
      source_.refuse(
          ErrorKind::BadCheckpoint, entry.offset,
          fmt::format("model.merges[{}] (\"{}\", \"{}\") needs a token \"{}\", which model.vocab lacks", rank,
                      entry.left, entry.right, spelling));
    }
    return id;
  }

  struct TextOf {
    const std::vector<std::string_view>& spellings;
    std::string_view operator()(std::int32_t id) const { return spellings[static_cast<std::size_t>(id)]; }
  };
  TextOf text_of() const { return {spellings_}; }

  const TokenizerParts& parts_;
  const JsonSource& source_;
  TokenizerFile file_;
  std::vector<std::string_view> spellings_;  // [vocabulary] as the file has them
  TokenIndex index_;                         // of spellings_
};

}  // namespace

TokenizerFile apply_rules(const TokenizerParts& parts, const JsonSource& source) {
  return Rules(parts, source).apply();
}

}  // namespace redline::text
