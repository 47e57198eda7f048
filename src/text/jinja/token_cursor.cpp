// Taking tokens and describing what was found instead.
#include "text/jinja/token_cursor.hpp"

namespace redline::text::jinja {

std::string describe(const Token& token) {
  switch (token.type) {
    case Token::Type::Data:
      return "text";
    case Token::Type::OutputBegin:
      return "'{{'";
    case Token::Type::OutputEnd:
      return "'}}'";
    case Token::Type::StatementBegin:
      return "'{%'";
    case Token::Type::StatementEnd:
      return "'%}'";
    case Token::Type::String:
      return "a string";
    case Token::Type::End:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

bool TokenCursor::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

bool TokenCursor::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

Token TokenCursor::expect(Token::Type type, std::string_view shown) {
  if (current().type != type)
    fail_syntax(current().line, "expected '{}', found {}", shown, describe(current()));
  return next();
}

void TokenCursor::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail_syntax(current().line, "expected '{}', found {}", text, describe(current()));
}

Token TokenCursor::expect_name() {
  if (current().type != Token::Type::Name)
    fail_syntax(current().line, "expected a name, found {}", describe(current()));
  return next();
}

}  // namespace redline::text::jinja
