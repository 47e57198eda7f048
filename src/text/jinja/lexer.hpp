// Template text to tokens, with Jinja's rules for white space as chat templates are rendered: trim_blocks,
// lstrip_blocks, and no newline kept at the very end. Lines are those of the file as it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redline::text::jinja {

struct Token {
  enum class Type : std::uint8_t {
    Data,
    OutputBegin,
    OutputEnd,
    StatementBegin,
    StatementEnd,
    Name,
    String,
    Integer,
    Float,
    Operator,
    End
  };
  Type type = Type::End;
  std::string
      text;  // data, a name, an unescaped string, a number as written without its underscores, an operator
  int line = 1;
};

// Throws BadCheckpoint as "NAME, line N: what is wrong".
std::vector<Token> tokenize(std::string_view source, std::string_view template_name);

}  // namespace redline::text::jinja
