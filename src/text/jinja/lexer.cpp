// The lexer: plain text until a tag, then tokens until its end. Which blanks beside a tag are text is the
// hard part:
//   {%- -%}  strip all white space on that side        {%+ +%}  switch the two automatisms off
//   lstrip_blocks: blanks between a line's start and {% or {# go      trim_blocks: one newline after %} or #}
//   goes
#include "text/jinja/lexer.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "text/jinja/characters.hpp"
#include "text/utf8.hpp"

namespace redline::text::jinja {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_begin(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_begin(c) || is_ascii_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view name) : name_(name) {
    if (const auto bad = find_invalid_utf8(source)) {
      fail(ErrorKind::BadCheckpoint, "{}: byte {} is not valid UTF-8", name, *bad);
    }
    for (std::size_t i = 0; i < source.size(); ++i) {  // \r\n and \r are newlines
      if (source[i] == '\r') {
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        text_ += '\n';
      } else {
        text_ += source[i];
      }
    }
    if (!text_.empty() && text_.back() == '\n') text_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < text_.size()) read_data();
    add(Token::Type::End, "", at_);
    return std::move(tokens_);
  }

 private:
  enum class Tag : std::uint8_t { Output, Statement, Comment, Raw };

  template <class... Args>
  [[noreturn]] void syntax_error(std::size_t position, FormatHere<std::type_identity_t<Args>...> message,
                                 Args&&... args) {
    fail(ErrorKind::BadCheckpoint, "{}, line {}: {}", name_, line_of(position),
         fmt::format(message.format, std::forward<Args>(args)...));
  }

  // Positions only grow, so lines are counted once through the text.
  int line_of(std::size_t position) {
    if (position < counted_to_) {
      return 1 + static_cast<int>(
                     std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    }
    counted_lines_ +=
        static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_to_),
                                    text_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    counted_to_ = position;
    return counted_lines_;
  }

  void add(Token::Type type, std::string text, std::size_t position) {
    tokens_.push_back({type, std::move(text), line_of(position)});
  }

  std::string_view rest(std::size_t from) const { return std::string_view(text_).substr(from); }
  bool starts(std::size_t from, std::string_view with) const { return rest(from).starts_with(with); }

  std::size_t skip_space(std::size_t from) const {
    return text_.size() - strip(rest(from), Ends::Left).size();
  }

  // The end of `{% raw %}` beginning at `begin`, if it is one. `word` is raw or endraw.
  std::optional<std::size_t> raw_tag(std::size_t begin, std::string_view word) const {
    std::size_t at = begin + 2;
    if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
    at = skip_space(at);
    if (!starts(at, word)) return std::nullopt;
    at = skip_space(at + word.size());
    if (starts(at, "-%}")) return skip_space(at + 3);
    const bool ends_raw = word == "endraw";
    if (ends_raw && starts(at, "+%}")) return at + 3;
    if (!starts(at, "%}")) return std::nullopt;
    at += 2;
    if (ends_raw && at < text_.size() && text_[at] == '\n') ++at;
    return at;
  }

  // Adds the text before a tag, stripped as the sign after the tag's opening and lstrip_blocks ask.
  void add_data(std::size_t begin, std::size_t end, char sign, bool output) {
    std::string_view data = std::string_view(text_).substr(begin, end - begin);
    if (sign == '-') {
      data = strip(data, Ends::Right);
    } else if (sign != '+' && !output) {
      const std::size_t newline = data.rfind('\n');
      const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line > 0 || at_line_start_) && strip(data.substr(line), Ends::Left).empty())
        data = data.substr(0, line);
    }
    if (!data.empty()) add(Token::Type::Data, std::string(data), begin);
  }

  void passed(std::size_t end) {
    at_line_start_ = end > 0 && text_[end - 1] == '\n';
    at_ = end;
  }

  void read_data() {
    std::size_t tag = at_;
    while (true) {
      tag = text_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= text_.size()) {
        add(Token::Type::Data, text_.substr(at_), at_);
        at_ = text_.size();
        return;
      }
      const char next = text_[tag + 1];
      if (next == '{' || next == '%' || next == '#') break;
      ++tag;
    }
    const char kind = text_[tag + 1];
    const char sign =
        tag + 2 < text_.size() && (text_[tag + 2] == '-' || text_[tag + 2] == '+') ? text_[tag + 2] : ' ';
    if (kind == '%') {
      if (const auto raw = raw_tag(tag, "raw")) {
        add_data(at_, tag, sign, false);
        passed(*raw);
        read_raw(tag);
        return;
      }
    }
    add_data(at_, tag, sign, kind == '{');
    const std::size_t inside = tag + (sign == ' ' ? 2 : 3);
    if (kind == '#') {
      read_comment(tag, inside);
      return;
    }
    add(kind == '{' ? Token::Type::OutputBegin : Token::Type::StatementBegin, "", tag);
    read_tag(tag, inside, kind == '{');
  }

  void read_raw(std::size_t opening) {
    for (std::size_t tag = at_; (tag = text_.find("{%", tag)) != std::string::npos; ++tag) {
      const auto end = raw_tag(tag, "endraw");
      if (!end) continue;
      const char sign = text_[tag + 2];
      add_data(at_, tag, sign == '-' || sign == '+' ? sign : ' ', false);
      passed(*end);
      return;
    }
    syntax_error(opening, "{{% raw %}} without {{% endraw %}}");
  }

  void read_comment(std::size_t opening, std::size_t inside) {
    const std::size_t end = text_.find("#}", inside);
    if (end == std::string::npos) syntax_error(opening, "comment without its end #}}");
    const char sign = end > inside ? text_[end - 1] : ' ';
    passed(end_of_tag(end + 2, sign, true));
  }

  std::size_t end_of_tag(std::size_t end, char sign, bool trims_newline) const {
    if (sign == '-') return skip_space(end);
    if (trims_newline && sign != '+' && end < text_.size() && text_[end] == '\n') return end + 1;
    return end;
  }

  void read_tag(std::size_t opening, std::size_t inside, bool output) {
    const std::string_view closing = output ? "}}" : "%}";
    std::string open_brackets;
    std::size_t at = inside;
    while (true) {
      at = skip_space(at);
      if (at >= text_.size()) {
        syntax_error(opening, "{} without its end {}", output ? "{{" : "{%", closing);
      }
      if (open_brackets.empty()) {
        const char sign = text_[at];
        const bool signed_end = (sign == '-' || (sign == '+' && !output)) && starts(at + 1, closing);
        if (signed_end || starts(at, closing)) {
          add(output ? Token::Type::OutputEnd : Token::Type::StatementEnd, "", at);
          passed(end_of_tag(at + (signed_end ? 3 : 2), signed_end ? sign : ' ', !output));
          return;
        }
      }
      at = read_token(at, open_brackets);
    }
  }

  std::size_t read_token(std::size_t at, std::string& open_brackets) {
    const char c = text_[at];
    if (is_ascii_digit(c)) return read_number(at);
    if (is_name_begin(c)) {
      std::size_t end = at;
      while (end < text_.size() && is_name_part(text_[end])) ++end;
      add(Token::Type::Name, text_.substr(at, end - at), at);
      return end;
    }
    if (c == '"' || c == '\'') return read_string(at);
    constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                               "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                               ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view candidate : kOperators) {
      if (!starts(at, candidate)) continue;
      balance(at, candidate, open_brackets);
      add(Token::Type::Operator, std::string(candidate), at);
      return at + candidate.size();
    }
    const auto character = rest(at).substr(0, byte_of_character(rest(at), 1));
    syntax_error(at, "unexpected character '{}' inside a tag", character);
  }

  void balance(std::size_t at, std::string_view bracket, std::string& open) {
    if (bracket == "{") open += '}';
    if (bracket == "(") open += ')';
    if (bracket == "[") open += ']';
    if (bracket != "}" && bracket != ")" && bracket != "]") return;
    if (open.empty()) syntax_error(at, "unexpected '{}'", bracket);
    if (open.back() != bracket.front())
      syntax_error(at, "unexpected '{}', expected '{}'", bracket, open.back());
    open.pop_back();
  }

  // Digits with single underscores between them, in a base.
  std::size_t skip_digits(std::size_t at, int base) const {
    const auto is_digit_of = [base](char c) {
      if (base == 16) return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      return c >= '0' && c < '0' + base;
    };
    while (at < text_.size() && (is_digit_of(text_[at]) ||
                                 (text_[at] == '_' && at + 1 < text_.size() && is_digit_of(text_[at + 1])))) {
      ++at;
    }
    return at;
  }

  std::size_t read_number(std::size_t at) {
    std::size_t end = at;
    bool is_float = false;
    const char second = at + 1 < text_.size() ? static_cast<char>(text_[at + 1] | 0x20) : ' ';
    if (text_[at] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
      end = skip_digits(at + 2, second == 'x' ? 16 : second == 'o' ? 8 : 2);
      if (end == at + 2) syntax_error(at, "'{}' is not a number", text_.substr(at, 2));
    } else {
      end = skip_digits(at, 10);
      // After a dot, as in items.0.1, a number is an index and takes no fraction.
      const bool after_dot = at > 0 && text_[at - 1] == '.';
      if (!after_dot && end + 1 < text_.size() && text_[end] == '.' && is_ascii_digit(text_[end + 1])) {
        end = skip_digits(end + 1, 10);
        is_float = true;
      }
      if (!after_dot && end < text_.size() && (text_[end] | 0x20) == 'e') {
        std::size_t digits = end + 1;
        if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
        if (digits < text_.size() && is_ascii_digit(text_[digits])) {
          end = skip_digits(digits, 10);
          is_float = true;
        }
      }
    }
    std::string written = text_.substr(at, end - at);
    std::erase(written, '_');
    if (!is_float && written.size() > 1 && written[0] == '0' && is_ascii_digit(written[1]) &&
        written.find_first_not_of('0') != std::string::npos) {
      syntax_error(at, "'{}': an integer does not begin with 0", written);
    }
    add(is_float ? Token::Type::Float : Token::Type::Integer, std::move(written), at);
    return end;
  }

  std::size_t read_string(std::size_t at) {
    const char quote = text_[at];
    std::size_t end = at + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) syntax_error(at, "string without its closing {}", quote);
    add(Token::Type::String, unescape(at, std::string_view(text_).substr(at + 1, end - at - 1)), at);
    return end + 1;
  }

  std::string unescape(std::size_t position, std::string_view written) {
    std::string out;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i] != '\\') {
        out += written[i];
        continue;
      }
      const char c = written[++i];
      constexpr std::string_view kFrom = "\\'\"abfnrtv";
      constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
      if (const auto simple = kFrom.find(c); simple != std::string_view::npos) {
        out += kTo[simple];
      } else if (c == '\n') {
        // a backslash before the line's end joins the lines
      } else if (c >= '0' && c <= '7') {
        char32_t value = 0;
        std::size_t digits = 0;
        while (digits < 3 && i + digits < written.size() && written[i + digits] >= '0' &&
               written[i + digits] <= '7') {
          value = value * 8 + static_cast<char32_t>(written[i + digits++] - '0');
        }
        i += digits - 1;
        append_character(out, value);
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        append_character(out, hexadecimal(position, written.substr(i + 1), digits));
        i += digits;
      } else if (c == 'N') {
        syntax_error(position, "string escape \\N{{…}} is not supported");
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  char32_t hexadecimal(std::size_t position, std::string_view written, std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = i < written.size() ? written[i] : ' ';
      const char lower = static_cast<char>(c | 0x20);
      if (is_ascii_digit(c)) {
        value = value * 16 + static_cast<char32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + static_cast<char32_t>(lower - 'a' + 10);
      } else {
        syntax_error(position, "string escape with fewer than {} hexadecimal digits", digits);
      }
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      syntax_error(position, "string escape for U+{:04X}, which is not a character",
                   static_cast<unsigned>(value));
    }
    return value;
  }

  std::string_view name_;
  std::string text_;
  std::size_t at_ = 0;
  bool at_line_start_ = true;
  std::size_t counted_to_ = 0;
  int counted_lines_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, std::string_view template_name) {
  return Lexer(source, template_name).run();
}

}  // namespace redline::text::jinja
