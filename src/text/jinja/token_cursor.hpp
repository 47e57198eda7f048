// A place in the token list, and the errors that parsing ends with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "text/jinja/lexer.hpp"

namespace redline::text::jinja {

std::string describe(const Token& token);  // "'endif'", "the end of the template", …

class TokenCursor {
 public:
  TokenCursor(std::vector<Token> tokens, std::string template_name)
      : tokens_(std::move(tokens)), name_(std::move(template_name)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& next() {  // the current one, and on
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_operator(std::string_view text) const {
    return current().type == Token::Type::Operator && current().text == text;
  }
  bool at_name(std::string_view text) const {
    return current().type == Token::Type::Name && current().text == text;
  }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);
  Token expect(Token::Type type, std::string_view shown);
  void expect_operator(std::string_view text);
  Token expect_name();

  template <class... Args>
  [[noreturn]] void fail_syntax(int line, FormatHere<std::type_identity_t<Args>...> message,
                                Args&&... args) const {
    fail(ErrorKind::BadCheckpoint, "{}, line {}: {}", name_, line,
         fmt::format(message.format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void fail_unsupported(int line, FormatHere<std::type_identity_t<Args>...> message,
                                     Args&&... args) const {
    fail(ErrorKind::Unsupported, "{}, line {}: {}", name_, line,
         fmt::format(message.format, std::forward<Args>(args)...));
  }

 private:
  std::vector<Token> tokens_;
  std::string name_;
  std::size_t at_ = 0;
};

}  // namespace redline::text::jinja
