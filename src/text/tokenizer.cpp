// encode: markers in the raw text -> NFC -> markers in normalised text -> words -> merges. decode: pieces ->
// UTF-8.
#include "text/tokenizer.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "core/error.hpp"
#include "text/utf8.hpp"

namespace redline::text {
namespace {

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

// Remembers where in this text a word was encoded before, so that the second "the" is a copy. It lives as
// long as one call and holds places, not words: no locks, no copies, nothing to grow.
class SeenWords {
 public:
  explicit SeenWords(std::size_t text_bytes) {
    if (text_bytes < kWorthwhile) return;
    slots_.resize(std::min(kMostSlots, std::bit_floor(text_bytes / 8)));
  }

  // Calls encode(), or copies what an earlier equal word became. `word` must stay where it is until the call
  // ends.
  template <class Encode>
  void encode(std::string_view word, std::vector<std::int32_t>& ids, const Encode& encode) {
    if (slots_.empty() || word.size() > kLongestWord || word.size() < 2) return encode();
    Slot& slot = slots_[hash_bytes(word) & (slots_.size() - 1)];
    if (slot.length == word.size() && std::string_view(slot.word, slot.length) == word) {
      const std::size_t size = ids.size();
      ids.resize(size + slot.count);
      std::copy_n(ids.begin() + slot.first_id, slot.count, ids.begin() + static_cast<std::ptrdiff_t>(size));
      return;
    }
    const std::size_t before = ids.size();
    encode();
    slot = {word.data(), static_cast<std::uint16_t>(word.size()),
            static_cast<std::uint16_t>(ids.size() - before), static_cast<std::uint32_t>(before)};
  }

 private:
  struct Slot {
    const char* word = nullptr;
    std::uint16_t length = 0, count = 0;
    std::uint32_t first_id = 0;
  };
  static constexpr std::size_t kWorthwhile = 512;   // clearing the table must cost less than it saves
  static constexpr std::size_t kMostSlots = 16384;  // 256 KB: stays in the second-level cache
  static constexpr std::size_t kLongestWord = 256;
  std::vector<Slot> slots_;
};

}  // namespace

struct Tokenizer::Encoding {
  Splitter splitter;
  SeenWords seen;
  std::deque<std::string> composed;  // parts that NFC changed; kept, because `seen` points into them
  std::string scratch;
  std::vector<std::int32_t> ids;
};

Tokenizer::Tokenizer(TokenizerFile file)
    : name_(std::move(file.name)),
      index_(file.pieces.size()),
      ignore_merges_(file.ignore_merges),
      added_tokens_(std::move(file.added_tokens)),
      pretokenizer_(file.split),
      bpe_(file.byte_ids, file.merges) {
  if (file.nfc) normalizer_.emplace();
  std::size_t bytes = 0;
  for (const std::string& piece : file.pieces) bytes += piece.size();
  ensure(bytes < 0xFFFFFFFFU, ErrorKind::BadCheckpoint,
         "{}: pieces of {} bytes in all, expected less than 4 GiB", name_, bytes);
  piece_bytes_.reserve(bytes);
  piece_begin_.reserve(file.pieces.size() + 1);
  for (const std::string& piece : file.pieces) {
    piece_begin_.push_back(static_cast<std::uint32_t>(piece_bytes_.size()));
    piece_bytes_ += piece;
  }
  piece_begin_.push_back(static_cast<std::uint32_t>(piece_bytes_.size()));

  special_.resize(file.pieces.size());
  const auto text = [this](std::int32_t id) { return text_of(id); };
  for (const AddedToken& token : added_tokens_) {  // first, so that their names win
    special_[static_cast<std::size_t>(token.id)] = token.special;
    if (text_of(token.id) == token.content) index_.insert(token.content, token.id, text);
  }
  if (ignore_merges_) whole_words_ = TokenIndex(file.pieces.size());
  for (std::int32_t id = 0; id < vocabulary_size(); ++id) {
    if (text_of(id).empty()) continue;
    index_.insert(text_of(id), id, text);
    if (ignore_merges_ && file.reachable[static_cast<std::size_t>(id)])
      whole_words_.insert(text_of(id), id, text);
  }
  build_markers();
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) { return Tokenizer(read_tokenizer_file(path)); }

void Tokenizer::build_markers() {
  std::string storage;
  for (std::size_t i = 0; i < added_tokens_.size(); ++i) {
    const AddedToken& token = added_tokens_[i];
    std::string_view text = token.content;
    if (token.normalized && normalizer_) text = normalizer_->normalize(text, storage);
    Markers& markers = token.normalized ? normal_markers_ : raw_markers_;
    markers.sorted.push_back({std::string(text), i});
    markers.begins[byte_of(text[0])] = true;
  }
  for (Markers* markers : {&raw_markers_, &normal_markers_}) {
    std::stable_sort(markers->sorted.begin(), markers->sorted.end(),
                     [](const auto& a, const auto& b) { return a.text < b.text; });
  }
}

const Tokenizer::Markers::Marker* Tokenizer::Markers::longest_at(std::string_view text, std::size_t position,
                                                                 std::size_t limit) const {
  const Marker* longest = nullptr;
  auto begin = sorted.begin(), end = sorted.end();  // those that agree with the text in `depth` bytes
  for (std::size_t depth = 0; position + depth < limit; ++depth) {
    const std::uint8_t wanted = byte_of(text[position + depth]);
    const auto has_less = [&](const Marker& marker, std::uint8_t byte) {
      return marker.text.size() <= depth || byte_of(marker.text[depth]) < byte;
    };
    begin = std::lower_bound(begin, end, wanted, has_less);
    end = std::upper_bound(begin, end, wanted, [&](std::uint8_t byte, const Marker& marker) {
      return byte < byte_of(marker.text[depth]);
    });
    if (begin == end) break;
    if (begin->text.size() == depth + 1) longest = &*begin;  // the shortest of those left sorts first
  }
  return longest;
}

// Gives the stretches between markers to on_text and puts the markers' ids between them.
template <class OnText>
void Tokenizer::cut_at_markers(std::string_view text, const Markers& markers,
                               std::span<const ByteRange> foreign, Encoding& encoding,
                               const OnText& on_text) const {
  std::size_t done = 0;  // up to here the text is encoded
  std::size_t i = 0;
  auto range = foreign.begin();
  while (!markers.sorted.empty() && i < text.size()) {
    if (!markers.begins[byte_of(text[i])]) {
      ++i;
      continue;
    }
    while (range != foreign.end() && range->end <= i) ++range;
    if (range != foreign.end() && range->begin <= i && i < range->end) {
      i = range->end;
      continue;
    }
    const std::size_t limit = range != foreign.end() ? std::min(range->begin, text.size()) : text.size();
    const Markers::Marker* marker = markers.longest_at(text, i, limit);
    if (marker == nullptr) {
      ++i;
      continue;
    }
    const AddedToken& token = added_tokens_[marker->token];
    std::size_t begin = i, end = i + marker->text.size();
    i = end;
    if (token.single_word) {
      const bool free_before = begin == 0 || !is_word_character(code_point_before(text, begin).value);
      const bool free_behind = end == text.size() || !is_word_character(code_point_at(text, end).value);
      if (!free_before || !free_behind) continue;
    }
    while (token.lstrip && begin > done && is_white_space(code_point_before(text, begin).value)) {
      begin -= code_point_before(text, begin).bytes;
    }
    while (token.rstrip && end < text.size() && is_white_space(code_point_at(text, end).value)) {
      end += code_point_at(text, end).bytes;
    }
    if (begin > done) on_text(text.substr(done, begin - done));
    encoding.ids.push_back(token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

// A stretch without raw markers. Offsets move under NFC, so a stretch that holds foreign text is searched for
// no markers of normalised text at all; no published file of the family has such markers.
void Tokenizer::encode_raw(std::string_view text, bool parse, Encoding& encoding) const {
  std::string_view normal = text;
  if (normalizer_) normal = normalizer_->normalize(text, encoding.scratch);
  if (normal.data() != text.data())
    normal = encoding.composed.emplace_back(std::exchange(encoding.scratch, {}));
  if (parse) {
    cut_at_markers(normal, normal_markers_, {}, encoding,
                   [&](std::string_view part) { encode_normal(part, encoding); });
  } else {
    encode_normal(normal, encoding);
  }
}

void Tokenizer::encode_normal(std::string_view text, Encoding& encoding) const {
  encoding.splitter.start(text);
  std::string_view word;
  while (encoding.splitter.next(word)) {
    encoding.seen.encode(word, encoding.ids, [&] {
      if (ignore_merges_) {
        const std::int32_t whole = whole_words_.find(word, [this](std::int32_t id) { return text_of(id); });
        if (whole != TokenIndex::kNone) return encoding.ids.push_back(whole);
      }
      bpe_.encode(word, encoding.ids);
    });
  }
}

std::vector<std::int32_t> Tokenizer::run(std::string_view text, bool parse,
                                         std::span<const ByteRange> foreign) const {
  ensure(text.size() < 0x7FFFFFFF, ErrorKind::BadInput, "the text has {} bytes, expected less than 2 GiB",
         text.size());
  if (const auto broken = find_invalid_utf8(text)) {
    fail(ErrorKind::BadInput, "the text is not UTF-8: byte {} (0x{:02X})", *broken, byte_of(text[*broken]));
  }
  Encoding encoding{Splitter(pretokenizer_), SeenWords(text.size()), {}, {}, {}};
  encoding.ids.reserve(text.size() / 4 + 8);
  if (parse) {
    cut_at_markers(text, raw_markers_, foreign, encoding, [&](std::string_view part) {
      const auto begin = static_cast<std::size_t>(part.data() - text.data());
      const auto next = std::partition_point(foreign.begin(), foreign.end(),
                                             [&](ByteRange range) { return range.end <= begin; });
      encode_raw(part, next == foreign.end() || next->begin >= begin + part.size(), encoding);
    });
  } else if (!text.empty()) {
    encode_raw(text, false, encoding);
  }
  return std::move(encoding.ids);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, Specials specials) const {
  return run(text, specials == Specials::Parse, {});
}

std::vector<std::int32_t> Tokenizer::encode_around(std::string_view text,
                                                   std::span<const ByteRange> foreign) const {
  for (std::size_t i = 0; i < foreign.size(); ++i) {
    ensure(foreign[i].begin <= foreign[i].end && foreign[i].end <= text.size() &&
               (i == 0 || foreign[i - 1].end <= foreign[i].begin),
           "foreign range {} ({} to {}) is out of order in a text of {} bytes", i, foreign[i].begin,
           foreign[i].end, text.size());
  }
  return run(text, true, foreign);
}

void Tokenizer::check_id(std::int32_t id) const {
  ensure(id >= 0 && id < vocabulary_size(), ErrorKind::BadInput,
         "token id {} is outside the vocabulary, expected 0 to {}", id, vocabulary_size() - 1);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string out;
  Utf8Repair repair;
  for (const std::int32_t id : ids) {
    check_id(id);
    if (skip_special && special_[static_cast<std::size_t>(id)]) continue;
    repair.push(text_of(id), out);
  }
  repair.finish(out);
  return out;
}

std::string_view Tokenizer::piece(std::int32_t id) const {
  check_id(id);
  return text_of(id);
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view bytes) const {
  const std::int32_t id = index_.find(bytes, [this](std::int32_t other) { return text_of(other); });
  return id == TokenIndex::kNone ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_special(std::int32_t id) const {
  check_id(id);
  return special_[static_cast<std::size_t>(id)];
}

}  // namespace redline::text
