// NFC by utf8proc's character data, words by PCRE2's just-in-time compiler; ASCII passes both by.
#include "text/pretokenize.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.hpp"
#include "text/ascii_words.hpp"
#include "text/utf8.hpp"

namespace redline::text {
namespace {

struct KnownPattern {
  SplitPattern pattern;
  std::string_view regex;
};
constexpr std::array<KnownPattern, 3> kPatterns{{
    {SplitPattern::Qwen35,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::Qwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {SplitPattern::Gpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
}};

// White space (the Unicode property) spelled out, for inside a class. PCRE2's own \s also holds U+180E, which
// has not been a space since Unicode 6.3.
constexpr std::string_view kSpaceClass = R"(\t-\r\x{85}\p{Z})";

// `\s` and `\S` of the pattern replaced by the class above; everything else means the same to both engines.
std::string for_pcre2(std::string_view regex) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    if (regex[i] == '\\') {
      const char next = regex[i + 1];
      if (next == 's') {
        out += in_class ? std::string(kSpaceClass) : fmt::format("[{}]", kSpaceClass);
      } else if (next == 'S') {
        out += fmt::format("[^{}]", kSpaceClass);
      } else {
        out += {'\\', next};
      }
      ++i;
      continue;
    }
    if (regex[i] == '[') in_class = true;
    if (regex[i] == ']') in_class = false;
    out += regex[i];
  }
  return out;
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 160> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

// Canonical decomposition of one code point, not yet ordered. Four places suffice for every code point
// (U+1F82 and its like), eight are given.
std::size_t decompose(std::int32_t code_point, std::array<utf8proc_int32_t, 8>& out) {
  int last_boundary_class = 0;
  const auto count = utf8proc_decompose_char(
      code_point, out.data(), static_cast<utf8proc_ssize_t>(out.size()), kDecompose, &last_boundary_class);
  ensure(count > 0 && count <= static_cast<utf8proc_ssize_t>(out.size()),
         "utf8proc: U+{:04X} decomposes into {}", code_point, count);
  return static_cast<std::size_t>(count);
}

std::uint8_t combining_class(std::int32_t code_point) {
  return static_cast<std::uint8_t>(utf8proc_get_property(code_point)->combining_class);
}

// Composes `points`, whose length shrinks.
void compose(std::vector<utf8proc_int32_t>& points) {
  const auto length =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kCompose);
  ensure(length >= 0, "utf8proc: {}", utf8proc_errmsg(length));
  points.resize(static_cast<std::size_t>(length));
}

// Canonical order: within each run of combining characters by class, equal classes as they were. A stable
// sort, since utf8proc's own is quadratic in the length of a run and a request may hold a million marks.
void order_marks(std::vector<utf8proc_int32_t>& points) {
  auto begin = points.begin();
  while (begin != points.end()) {
    begin = std::find_if(begin, points.end(), [](std::int32_t c) { return combining_class(c) != 0; });
    const auto end =
        std::find_if(begin, points.end(), [](std::int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end,
                     [](std::int32_t a, std::int32_t b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

void append_composed(std::string_view segment, std::string& out) {
  std::vector<utf8proc_int32_t> points;
  std::array<utf8proc_int32_t, 8> parts{};
  for (std::size_t i = 0; i < segment.size();) {
    const CodePoint here = code_point_at(segment, i);
    const std::size_t count = decompose(here.value, parts);
    points.insert(points.end(), parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    i += here.bytes;
  }
  order_marks(points);
  compose(points);
  for (const std::int32_t point : points) append_utf8(point, out);
}

}  // namespace

std::string_view regex_of(SplitPattern pattern) {
  return std::find_if(kPatterns.begin(), kPatterns.end(),
                      [&](const auto& known) { return known.pattern == pattern; })
      ->regex;
}

std::optional<SplitPattern> split_pattern_from_regex(std::string_view regex) {
  for (const KnownPattern& known : kPatterns) {
    if (known.regex == regex) return known.pattern;
  }
  return std::nullopt;
}

// The quick check of Unicode's annex 15, its two properties derived from decompositions: a code point that
// does not survive NFC alone is "no"; the last part of one that does may be composed with what precedes it
// and is "maybe".
NfcNormalizer::NfcNormalizer() : classes_(std::make_unique<std::uint8_t[]>(kEnd)) {
  std::vector<utf8proc_int32_t> composed;
  std::array<utf8proc_int32_t, 8> parts{};
  for (std::int32_t c = 0; c < kEnd; ++c) {
    if (c >= 0xAC00 && c <= 0xD7A3) continue;  // Hangul syllables stay as they are
    const utf8proc_property_t* property = utf8proc_get_property(c);
    std::uint8_t& here = classes_[static_cast<std::size_t>(c)];
    if (here != kDoubt) here = static_cast<std::uint8_t>(property->combining_class);
    if (property->decomp_seqindex == UINT16_MAX || property->decomp_type != 0) continue;
    const std::size_t count = decompose(c, parts);
    composed.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    compose(composed);
    if (composed.size() != 1 || composed[0] != c) {
      here = kDoubt;
    } else {
      classes_[static_cast<std::size_t>(parts[count - 1])] = kDoubt;
    }
  }
  for (std::int32_t c = 0x1161; c <= 0x1175; ++c)
    classes_[static_cast<std::size_t>(c)] = kDoubt;  // Hangul vowels
  for (std::int32_t c = 0x11A8; c <= 0x11C2; ++c)
    classes_[static_cast<std::size_t>(c)] = kDoubt;  // and final consonants
}

// Offset of the first code point that is not certainly in NFC where it stands; text.size() when all are.
std::size_t NfcNormalizer::find_doubt(std::string_view text, std::size_t from) const {
  std::uint8_t last = 0;
  for (std::size_t i = from; i < text.size();) {
    if (static_cast<std::uint8_t>(text[i]) < 0xCC) {  // below U+0300
      i += static_cast<std::uint8_t>(text[i]) < 0x80 ? 1 : 2;
      last = 0;
      continue;
    }
    const CodePoint here = code_point_at(text, i);
    const std::uint8_t combining = class_of(here.value);
    if (combining == kDoubt || (combining != 0 && combining < last)) return i;
    last = combining;
    i += here.bytes;
  }
  return text.size();
}

std::string_view NfcNormalizer::normalize(std::string_view text, std::string& storage) const {
  std::size_t doubt = find_doubt(text, 0);
  if (doubt == text.size()) return text;
  storage.clear();
  storage.reserve(text.size());
  std::size_t done = 0;
  while (doubt < text.size()) {
    std::size_t begin = doubt;  // back to the character that a mark could be composed with
    while (begin > done) {
      const CodePoint before = code_point_before(text, begin);
      begin -= before.bytes;
      if (class_of(before.value) == kStarter) break;
    }
    std::size_t end = doubt;  // on to the first one that starts afresh
    do end += code_point_at(text, end).bytes;
    while (end < text.size() && class_of(code_point_at(text, end).value) != kStarter);
    storage.append(text, done, begin - done);
    append_composed(text.substr(begin, end - begin), storage);
    done = end;
    doubt = find_doubt(text, done);
  }
  storage.append(text, done);
  return storage;
}

bool is_white_space(std::int32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Unicode's annex 18: alphabetic, marks, decimal digits, connectors, joiners. Alphabetic beyond letters,
// letter numbers and marks are only the circled and squared Latin letters.
bool is_word_character(std::int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
             (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  }
}

struct Pretokenizer::Compiled {
  pcre2_code* code = nullptr;
  bool just_in_time = false;
  bool ascii_by_hand = false;
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
};

Pretokenizer::Pretokenizer(SplitPattern pattern) : compiled_(std::make_unique<Compiled>()) {
  const std::string regex = for_pcre2(regex_of(pattern));
  int code = 0;
  PCRE2_SIZE offset = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(regex.data()), regex.size(),
                                  PCRE2_UTF | PCRE2_UCP, &code, &offset, nullptr);
  ensure(compiled_->code != nullptr, "PCRE2: {} at offset {} of {}", pcre2_message(code), offset, regex);
  // Where no memory may be made executable the interpreter does the same, slower.
  compiled_->just_in_time = pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE) == 0;
  compiled_->ascii_by_hand = pattern == SplitPattern::Qwen35 || pattern == SplitPattern::Qwen2;
}
Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;

struct Splitter::Workspace {
  pcre2_match_data* data = nullptr;
  explicit Workspace(const pcre2_code* code) : data(pcre2_match_data_create_from_pattern(code, nullptr)) {
    ensure(data != nullptr, ErrorKind::OutOfMemory, "PCRE2: no memory for a match");
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { pcre2_match_data_free(data); }
};

Splitter::Splitter(const Pretokenizer& pretokenizer) : compiled_(*pretokenizer.compiled_) {}
Splitter::~Splitter() = default;

void Splitter::start(std::string_view valid_text) {
  text_ = valid_text;
  position_ = 0;
}

bool Splitter::next(std::string_view& word) {
  if (position_ == text_.size()) return false;
  std::size_t length = compiled_.ascii_by_hand ? ascii_word_length(text_, position_) : 0;
  if (length == 0) length = match_end() - position_;
  word = text_.substr(position_, length);
  position_ += length;
  return true;
}

std::size_t Splitter::match_end() {
  if (!workspace_) workspace_ = std::make_unique<Workspace>(compiled_.code);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (compiled_.just_in_time) {
    result = pcre2_jit_match(compiled_.code, subject, text_.size(), position_, PCRE2_NO_UTF_CHECK,
                             workspace_->data, nullptr);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    result = pcre2_match(compiled_.code, subject, text_.size(), position_, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         workspace_->data, nullptr);
  }
  if (result == PCRE2_ERROR_NOMATCH) return text_.size();
  ensure(result > 0, "PCRE2: {} at byte {} of a text of {} bytes", pcre2_message(result), position_,
         text_.size());
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(workspace_->data);
  ensure(ends[1] > position_, "the split pattern matched nothing at byte {}", position_);
  return ends[0] == position_ ? ends[1] : ends[0];  // what the pattern skips is a word too
}

}  // namespace redline::text
