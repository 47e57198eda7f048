// `redline tokenize`: text to token ids and ids to text, for people (ids beside their pieces) and for
// programs (--json,
// --lines).
#pragma once

#include <optional>
#include <string>

namespace redline::cli {

struct TokenizeOptions {
  std::string model;                // checkpoint folder or tokenizer.json
  std::optional<std::string> text;  // what to convert; standard input when absent
  bool decode = false;              // ids -> text; ids are numbers between commas or spaces, or a JSON list
  bool json = false;
  bool lines = false;           // one text per line in, one result per line out; with json both are JSON
  bool parse_specials = false;  // added tokens in the text become themselves instead of plain text
  bool skip_special = false;    // with decode: leave special tokens out
};

int run_tokenize(const TokenizeOptions& options);

}  // namespace redline::cli
