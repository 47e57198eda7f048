// Reads text or ids, converts, prints. Text that is not UTF-8 is mended here, with one warning, since a
// terminal or a file may hold anything; the server refuses it instead.
#include "cli/tokenize.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/log.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8.hpp"

namespace redline::cli {
namespace {

using nlohmann::json;
using Ids = std::vector<std::int32_t>;

// nlohmann refuses to print what is not UTF-8; pieces may be parts of characters, so those are shown as
// U+FFFD.
std::string to_line(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

class Command {
 public:
  explicit Command(const TokenizeOptions& options)
      : options_(options), tokenizer_(text::Tokenizer::load(options.model)) {}

  int run() {
    if (options_.lines) {
      lines();
    } else {
      const std::string input = options_.text ? *options_.text : everything();
      options_.decode ? print_text(input) : print_ids(input);
    }
    std::cout.flush();
    ensure(std::cout.good(), ErrorKind::Io, "cannot write to standard output");
    return 0;
  }

 private:
  static std::string everything() {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }

  Ids encode(const std::string& raw) {
    const auto specials = options_.parse_specials ? text::Specials::Parse : text::Specials::AsText;
    const auto broken = text::find_invalid_utf8(raw);
    if (!broken) return tokenizer_.encode(raw, specials);
    if (!warned_)
      log::warn("the text is not UTF-8 (first at byte {}); such bytes are read as U+FFFD", *broken);
    warned_ = true;
    return tokenizer_.encode(text::replace_invalid_utf8(raw), specials);
  }

  // Numbers between commas, spaces and brackets.
  static Ids parse_ids(std::string_view input, std::string_view where) {
    Ids ids;
    std::size_t i = 0;
    while ((i = input.find_first_not_of(", \t\r\n[]", i)) != std::string_view::npos) {
      std::int32_t id = 0;
      const char* begin = input.data() + i;
      const auto [end, code] = std::from_chars(begin, input.data() + input.size(), id);
      const std::size_t next = std::min(input.find_first_of(", \t\r\n[]", i), input.size());
      ensure(code == std::errc() && end == input.data() + next, ErrorKind::BadInput,
             "{}: \"{}\" is not a token id, expected numbers such as 9419, 198", where,
             input.substr(i, next - i));
      ids.push_back(id);
      i = next;
    }
    return ids;
  }

  std::string decode(const Ids& ids) const { return tokenizer_.decode(ids, options_.skip_special); }

  void print_ids(const std::string& input) {
    const Ids ids = encode(input);
    if (options_.json) {
      json pieces = json::array();
      for (const std::int32_t id : ids) pieces.push_back(std::string(tokenizer_.piece(id)));
      std::cout << to_line({{"ids", ids}, {"pieces", pieces}, {"count", ids.size()}}) << '\n';
      return;
    }
    for (const std::int32_t id : ids)
      std::cout << fmt::format("{:>8}  {}\n", id, to_line(std::string(tokenizer_.piece(id))));
    std::cout << fmt::format("{} tokens\n", ids.size());
  }

  void print_text(const std::string& input) const {
    const Ids ids = parse_ids(input, "ids");
    const std::string out = decode(ids);
    if (options_.json) {
      std::cout << to_line({{"text", out}, {"count", ids.size()}}) << '\n';
    } else {
      std::cout << out << '\n';
    }
  }

  void lines() {
    ensure(!options_.text, ErrorKind::BadInput, "--lines reads standard input, but a text is given as well");
    std::string line;
    for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
      const std::string where = fmt::format("standard input, line {}", number);
      if (options_.decode) {
        const std::string out = decode(parse_ids(line, where));
        std::cout << (options_.json ? to_line(out) : out) << '\n';
        continue;
      }
      if (options_.json) {
        const json text = json::parse(line, nullptr, /*allow_exceptions=*/false);
        ensure(text.is_string(), ErrorKind::BadInput, "{}: expected a JSON string", where);
        std::cout << to_line(encode(text.get<std::string>())) << '\n';
      } else {
        std::cout << fmt::format("{}\n", fmt::join(encode(line), " "));
      }
    }
  }

  const TokenizeOptions& options_;
  text::Tokenizer tokenizer_;
  bool warned_ = false;
};

}  // namespace

int run_tokenize(const TokenizeOptions& options) {
  std::ios::sync_with_stdio(false);
  return Command(options).run();
}

}  // namespace redline::cli
