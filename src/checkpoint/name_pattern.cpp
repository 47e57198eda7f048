// Wildcards by the two-pointer walk; regular expressions as a small program run with backtracking.
// Expressions have no back-references, so a state (instruction, position) that failed once fails always and
// is never tried again.
#include "checkpoint/name_pattern.hpp"

#include <bitset>
#include <cstdint>
#include <vector>

namespace redline::checkpoint {
namespace {

using Set = std::bitset<256>;

enum class Op : std::uint8_t { Char, Split, Jump, Start, End, WordBorder, Look, Match };

// Jumps are relative, so that programs can be put one after another.
struct Instruction {
  Op op = Op::Match;
  Set set{};             // Char: the bytes that it takes
  int first = 1;         // Split: tried first; Jump; Look: where to go on when it holds
  int second = 1;        // Split
  bool negated = false;  // WordBorder, Look
};

using Code = std::vector<Instruction>;

constexpr std::size_t kMostInstructions = 1024;  // real expressions need fewer than a hundred
constexpr std::size_t kLongestName = 1024;
constexpr int kDeepestGroup = 32;

void append(Code& code, const Code& more) { code.insert(code.end(), more.begin(), more.end()); }

Set range(unsigned char first, unsigned char last) {
  Set set;
  for (unsigned c = first; c <= last; ++c) set.set(c);
  return set;
}

Set word_bytes() { return range('a', 'z') | range('A', 'Z') | range('0', '9') | range('_', '_'); }

bool is_word(std::string_view name, std::size_t position) {
  static const Set word = word_bytes();
  return position < name.size() && word[static_cast<unsigned char>(name[position])];
}

// Every parse_… returns nullopt for what it does not know; the caller passes that on.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Code> parse() {
    std::optional<Code> code = alternatives(0);
    if (!code || at_ != text_.size()) return std::nullopt;
    code->push_back({.op = Op::Match});
    return code;
  }

 private:
  bool more() const { return at_ < text_.size(); }
  char peek() const { return text_[at_]; }
  bool eat(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::optional<Code> alternatives(int depth) {
    if (depth > kDeepestGroup) return std::nullopt;
    std::optional<Code> left = sequence(depth);
    if (!left) return std::nullopt;
    if (!eat("|")) return left;
    std::optional<Code> right = alternatives(depth + 1);
    if (!right || left->size() + right->size() > kMostInstructions) return std::nullopt;
    Code code;
    code.push_back({.op = Op::Split, .first = 1, .second = static_cast<int>(left->size()) + 2});
    append(code, *left);
    code.push_back({.op = Op::Jump, .first = static_cast<int>(right->size()) + 1});
    append(code, *right);
    return code;
  }

  std::optional<Code> sequence(int depth) {
    Code code;
    while (more() && peek() != '|' && peek() != ')') {
      std::optional<Code> piece = atom(depth);
      if (piece) piece = repeated(std::move(*piece));
      if (!piece || code.size() + piece->size() > kMostInstructions) return std::nullopt;
      append(code, *piece);
    }
    return code;
  }

  std::optional<Code> atom(int depth) {
    const char c = text_[at_++];
    switch (c) {
      case '.':
        return one(~range('\n', '\n'));
      case '^':
        return Code{{.op = Op::Start}};
      case '$':
        return Code{{.op = Op::End}};
      case '(':
        return group(depth);
      case '[':
        return set();
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
      case '{':
        return std::nullopt;
      default:
        return one(range(static_cast<unsigned char>(c), static_cast<unsigned char>(c)));
    }
  }

  std::optional<Code> group(int depth) {
    bool look = false;
    bool negated = false;
    if (eat("?")) {
      if (eat("=")) {
        look = true;
      } else if (eat("!")) {
        look = negated = true;
      } else if (eat("P<")) {
        const std::size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) return std::nullopt;
        at_ = end + 1;
      } else if (!eat(":")) {
        return std::nullopt;
      }
    }
    if (look && looking_)
      return std::nullopt;  // one level of looking ahead, so that the step count stays bounded
    looking_ = looking_ || look;
    std::optional<Code> inner = alternatives(depth + 1);
    if (!inner || !eat(")")) return std::nullopt;
    if (!look) return inner;
    looking_ = false;
    Code code;
    code.push_back({.op = Op::Look, .first = static_cast<int>(inner->size()) + 2, .negated = negated});
    append(code, *inner);
    code.push_back({.op = Op::Match});
    return code;
  }

  std::optional<Set> class_of(char c) const {
    switch (c) {
      case 'd':
        return range('0', '9');
      case 'D':
        return ~range('0', '9');
      case 'w':
        return word_bytes();
      case 'W':
        return ~word_bytes();
      case 's':
        return range('\t', '\r') | range(' ', ' ');
      case 'S':
        return ~(range('\t', '\r') | range(' ', ' '));
      default:
        break;
    }
    // An escaped letter or digit that is none of the above means something in Python that is not known here.
    if (word_bytes()[static_cast<unsigned char>(c)] && c != '_') return std::nullopt;
    return range(static_cast<unsigned char>(c), static_cast<unsigned char>(c));
  }

  std::optional<Code> escape() {
    if (!more()) return std::nullopt;
    const char c = text_[at_++];
    if (c == 'A') return Code{{.op = Op::Start}};
    if (c == 'Z') return Code{{.op = Op::End}};
    if (c == 'b' || c == 'B') return Code{{.op = Op::WordBorder, .negated = c == 'B'}};
    const std::optional<Set> bytes = class_of(c);
    if (!bytes) return std::nullopt;
    return one(*bytes);
  }

  std::optional<Code> set() {
    const bool negated = eat("^");
    Set bytes;
    bool first = true;
    while (more() && (first || peek() != ']')) {
      first = false;
      char c = text_[at_++];
      if (c == '\\') {
        if (!more()) return std::nullopt;
        const std::optional<Set> escaped = class_of(text_[at_++]);
        if (!escaped) return std::nullopt;
        bytes |= *escaped;
        continue;
      }
      if (at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']') {
        const auto last = static_cast<unsigned char>(text_[at_ + 1]);
        if (last == '\\' || last < static_cast<unsigned char>(c)) return std::nullopt;
        bytes |= range(static_cast<unsigned char>(c), last);
        at_ += 2;
      } else {
        bytes.set(static_cast<unsigned char>(c));
      }
    }
    if (!eat("]")) return std::nullopt;
    return one(negated ? ~bytes : bytes);
  }

  static Code one(const Set& bytes) { return Code{{.op = Op::Char, .set = bytes}}; }

  std::optional<Code> repeated(Code piece) {
    int least = 1;
    int most = 1;  // -1: no limit
    if (eat("*")) {
      least = 0, most = -1;
    } else if (eat("+")) {
      most = -1;
    } else if (eat("?")) {
      least = 0;
    } else if (eat("{")) {
      const std::optional<int> from = count();
      if (!from) return std::nullopt;
      least = most = *from;
      if (eat(",")) {
        most = -1;
        if (more() && peek() != '}') {
          const std::optional<int> to = count();
          if (!to || *to < least) return std::nullopt;
          most = *to;
        }
      }
      if (!eat("}")) return std::nullopt;
    } else {
      return piece;
    }
    eat("?");  // lazy or greedy: whether a name matches is the same
    if (more() && (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')) return std::nullopt;

    const auto size = static_cast<int>(piece.size());
    const std::size_t copies =
        static_cast<std::size_t>(least) + static_cast<std::size_t>(most < 0 ? 1 : most - least);
    if (copies * (piece.size() + 2) > kMostInstructions) return std::nullopt;
    Code code;
    for (int i = 0; i < least; ++i) append(code, piece);
    if (most < 0) {
      code.push_back({.op = Op::Split, .first = 1, .second = size + 2});
      append(code, piece);
      code.push_back({.op = Op::Jump, .first = -(size + 1)});
    }
    for (int i = least; i < most; ++i) {
      code.push_back({.op = Op::Split, .first = 1, .second = size + 1});
      append(code, piece);
    }
    return code;
  }

  std::optional<int> count() {
    int value = 0;
    const std::size_t begin = at_;
    while (more() && peek() >= '0' && peek() <= '9' && at_ - begin < 4)
      value = value * 10 + (text_[at_++] - '0');
    if (at_ == begin) return std::nullopt;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool looking_ = false;
};

bool runs(const Code& code, std::size_t entry, std::string_view name, std::size_t begin) {
  struct State {
    std::size_t instruction, position;
  };
  std::vector<bool> tried(code.size() * (name.size() + 1));
  std::vector<State> open{{entry, begin}};
  while (!open.empty()) {
    const auto [at, position] = open.back();
    open.pop_back();
    const std::size_t key = at * (name.size() + 1) + position;
    if (tried[key]) continue;
    tried[key] = true;
    const Instruction& step = code[at];
    const auto to = [at = at](int distance) { return at + static_cast<std::size_t>(distance); };
    bool holds = false;
    switch (step.op) {
      case Op::Match:
        return true;
      case Op::Char:
        if (position < name.size() && step.set[static_cast<unsigned char>(name[position])]) {
          open.push_back({at + 1, position + 1});
        }
        break;
      case Op::Split:
        open.push_back({to(step.second), position});
        open.push_back({to(step.first), position});
        break;
      case Op::Jump:
        open.push_back({to(step.first), position});
        break;
      case Op::Start:
        holds = position == 0;
        break;
      case Op::End:
        holds = position == name.size();
        break;
      case Op::WordBorder:
        holds = ((position > 0 && is_word(name, position - 1)) != is_word(name, position)) != step.negated;
        break;
      case Op::Look:
        if (runs(code, at + 1, name, position) != step.negated) open.push_back({to(step.first), position});
        break;
    }
    if (holds) open.push_back({at + 1, position});
  }
  return false;
}

// One bracket expression of a wildcard pattern, `at` on the character after '['. nullopt: no closing bracket,
// '[' stands for itself.
std::optional<bool> bracket(std::string_view pattern, std::size_t& at, char c) {
  std::size_t i = at;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 3;
    } else {
      found = found || pattern[i] == c;
      ++i;
    }
  }
  if (i >= pattern.size()) return std::nullopt;
  at = i + 1;
  return found != negated;
}

bool wildcards_match(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // after the last '*' seen
  std::size_t star_name = 0;                  // where the text that it swallows ends
  while (n < name.size()) {
    bool step = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = ++p;
        star_name = n;
        continue;
      }
      std::size_t after = p + 1;
      if (pattern[p] == '?') {
        step = true;
      } else if (pattern[p] == '[') {
        step = bracket(pattern, after, name[n]).value_or(name[n] == '[');
      } else {
        step = pattern[p] == name[n];
      }
      if (step) {
        p = after;
        ++n;
      }
    }
    if (step) continue;
    if (star == std::string_view::npos) return false;
    p = star;
    n = ++star_name;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

struct NamePattern::Program {
  Code code;
};

NamePattern NamePattern::exact(std::string_view name) { return {Kind::Exact, std::string(name)}; }

NamePattern NamePattern::wildcards(std::string_view pattern) {
  if (pattern.find_first_of("*?[") == std::string_view::npos) return exact(pattern);
  return {Kind::Wildcards, std::string(pattern)};
}

std::optional<NamePattern> NamePattern::regex(std::string_view expression) {
  std::optional<Code> code = Parser(expression).parse();
  if (!code) return std::nullopt;
  NamePattern pattern(Kind::Regex, std::string(expression));
  pattern.program_ = std::make_shared<const Program>(Program{std::move(*code)});
  return pattern;
}

bool NamePattern::matches(std::string_view name) const {
  switch (kind_) {
    case Kind::Exact:
      return name == text_;
    case Kind::Wildcards:
      return wildcards_match(text_, name);
    case Kind::Regex:
      return name.size() <= kLongestName && runs(program_->code, 0, name, 0);
  }
  return false;
}

const std::string* NamePattern::plain() const { return kind_ == Kind::Exact ? &text_ : nullptr; }

}  // namespace redline::checkpoint
