// Statements; expressions are in expression_parser.cpp.
#include "text/jinja/parser.hpp"

#include <algorithm>
#include <unordered_set>

#include "text/jinja/expression_parser.hpp"
#include "text/jinja/functions.hpp"

namespace redline::text::jinja {
namespace {

using Type = Statement::Type;

class Parser {
 public:
  Parser(std::string_view source, std::string name) : expressions_(source, name, program_) {
    program_.template_name = std::move(name);
  }

  Program run() {
    program_.body = block({});
    check_functions();
    return std::move(program_);
  }

 private:
  using Names = std::vector<std::string_view>;

  // Statements until one of `ends`, whose name is then the current token (its tag is open); without ends,
  // until the end.
  Block block(const Names& ends) {
    const auto nested = expressions_.deeper();
    Block out;
    while (true) {
      const Token& token = cursor().current();
      switch (token.type) {
        case Token::Type::End:
          if (!ends.empty()) {
            cursor().fail_syntax(token.line, "the template ends where {} is expected for '{}' of line {}",
                                 listed(ends), open_.back().first, open_.back().second);
          }
          return out;
        case Token::Type::Data: {
          Statement data{.type = Type::Data, .line = token.line};
          data.data = token.text;
          out.push_back(std::move(data));
          cursor().next();
          break;
        }
        case Token::Type::OutputBegin: {
          Statement output{.type = Type::Output, .line = token.line};
          cursor().next();
          output.expressions.push_back(expressions_.tuple());
          cursor().expect(Token::Type::OutputEnd, "}}");
          out.push_back(std::move(output));
          break;
        }
        case Token::Type::StatementBegin: {
          cursor().next();
          const Token& name = cursor().current();
          if (name.type == Token::Type::Name && std::find(ends.begin(), ends.end(), name.text) != ends.end())
            return out;
          out.push_back(statement());
          cursor().expect(Token::Type::StatementEnd, "%}");
          break;
        }
        default:
          cursor().fail_syntax(token.line, "unexpected {}", describe(token));
      }
    }
  }

  // A block and the word that ended it, with the rest of its tag still to come.
  std::pair<Block, std::string> body(const Names& ends) {
    cursor().skip_operator(":");
    cursor().expect(Token::Type::StatementEnd, "%}");
    Block out = block(ends);
    std::string end = cursor().next().text;
    return {std::move(out), std::move(end)};
  }

  static std::string listed(const Names& names) {
    std::string out;
    for (const auto name : names) out += (out.empty() ? "'" : " or '") + std::string(name) + "'";
    return out;
  }

  Statement statement() {
    const Token token = cursor().current();
    if (token.type != Token::Type::Name)
      cursor().fail_syntax(token.line, "a statement begins with its name, found {}", describe(token));
    open_.emplace_back(token.text, token.line);
    Statement out = named_statement(token);
    open_.pop_back();
    out.line = token.line;
    return out;
  }

  Statement named_statement(const Token& token) {
    const std::string& name = token.text;
    cursor().next();
    if (name == "if") return if_statement();
    if (name == "for") return for_statement(token.line);
    if (name == "set") return set_statement();
    if (name == "macro") return macro_statement();
    if (name == "call") return call_statement(token.line);
    if (name == "filter") return filter_statement();
    if (name == "with") return with_statement();
    if (name == "print") return print_statement();
    if (name == "generation") {
      Statement out{.type = Type::Scope};
      out.blocks.push_back(closed_body("endgeneration"));
      return out;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) cursor().fail_syntax(token.line, "'{}' outside of a loop", name);
      return {.type = name == "break" ? Type::Break : Type::Continue};
    }
    constexpr std::string_view kKnownToJinja[] = {"block",      "extends", "include", "import", "from",
                                                  "autoescape", "do",      "trans",   "debug"};
    if (std::find(std::begin(kKnownToJinja), std::end(kKnownToJinja), name) != std::end(kKnownToJinja)) {
      cursor().fail_unsupported(token.line, "statement '{}' is not supported", name);
    }
    if (open_.size() > 1) {
      const auto& [outer, line] = open_[open_.size() - 2];
      cursor().fail_syntax(token.line, "unknown statement '{}' inside '{}' of line {}", name, outer, line);
    }
    cursor().fail_syntax(token.line, "unknown statement '{}'", name);
  }

  // The body of something that is a function in Jinja: a break inside does not reach the loop outside.
  Block closed_body(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Block out = body({end}).first;
    loops_ = loops;
    return out;
  }

  Statement if_statement() {
    Statement out{.type = Type::If};
    while (true) {
      out.expressions.push_back(expressions_.tuple_without_condition({}));
      auto [branch, end] = body({"elif", "else", "endif"});
      out.blocks.push_back(std::move(branch));
      if (end == "elif") continue;
      if (end == "else") out.blocks.push_back(body({"endif"}).first);
      return out;
    }
  }

  Statement for_statement(int line) {
    Statement out{.type = Type::For};
    out.loop_variable = expressions_.loaded("loop");
    out.targets.push_back(target(false, "in"));
    if (!cursor().skip_name("in"))
      cursor().fail_syntax(cursor().current().line, "expected 'in', found {}", describe(cursor().current()));
    out.expressions.push_back(expressions_.tuple_without_condition("recursive"));
    out.expressions.push_back(cursor().skip_name("if") ? expressions_.expression() : nullptr);
    if (cursor().skip_name("recursive"))
      cursor().fail_unsupported(line, "a recursive 'for' is not supported");
    ++loops_;
    auto [inner, end] = body({"endfor", "else"});
    --loops_;
    out.blocks.push_back(std::move(inner));
    out.blocks.push_back(end == "else" ? body({"endfor"}).first : Block{});
    return out;
  }

  Statement set_statement() {
    Statement out{.type = Type::Set};
    out.targets.push_back(target(true, {}));
    if (cursor().skip_operator("=")) {
      out.expressions.push_back(expressions_.tuple());
      note_namespace(out);
      return out;
    }
    out.type = Type::SetBlock;
    while (cursor().skip_operator("|")) out.filters.push_back(expressions_.filter_call());
    out.blocks.push_back(body({"endset"}).first);
    return out;
  }

  void note_namespace(const Statement& set) {
    const Expression& value = *set.expressions[0];
    if (value.type != Expression::Type::Call || value.parts[0]->type != Expression::Type::Name) return;
    if (program_.names[static_cast<std::size_t>(value.parts[0]->variable)] == "namespace") {
      namespaces_.insert(set.targets[0].variable);
    }
  }

  std::vector<Parameter> signature() {
    std::vector<Parameter> out;
    cursor().expect_operator("(");
    while (!cursor().at_operator(")")) {
      if (!out.empty()) cursor().expect_operator(",");
      const Token name = cursor().expect_name();
      Parameter parameter{
          .variable = expressions_.stored(name.text), .name = name.text, .otherwise = nullptr};
      if (cursor().skip_operator("=")) {
        parameter.otherwise = expressions_.expression();
      } else if (!out.empty() && out.back().otherwise) {
        cursor().fail_syntax(name.line, "parameter '{}' without a default follows one with a default",
                             name.text);
      }
      out.push_back(std::move(parameter));
    }
    cursor().expect_operator(")");
    return out;
  }

  Statement macro_statement() {
    Statement out{.type = Type::Macro};
    const Token name = cursor().expect_name();
    out.name = name.text;
    out.targets.push_back({.variable = expressions_.stored(name.text), .attribute = {}, .parts = {}});
    macro_body(out, "endmacro");
    return out;
  }

  void macro_body(Statement& out, std::string_view end) {
    out.parameters = signature();
    const auto mentioned = expressions_.watch_special_names();
    out.blocks.push_back(closed_body(end));
    const auto special = expressions_.end_watch(mentioned);
    out.takes_rest = special.varargs;
    out.takes_keywords = special.kwargs;
    out.takes_caller = special.caller;
    out.rest_variable = expressions_.loaded("varargs");
    out.keywords_variable = expressions_.loaded("kwargs");
    out.caller_variable = expressions_.loaded("caller");
  }

  Statement call_statement(int line) {
    Statement out{.type = Type::CallBlock};
    if (cursor().at_operator("(")) out.parameters = signature();
    out.expressions.push_back(expressions_.expression());
    if (out.expressions[0]->type != Expression::Type::Call)
      cursor().fail_syntax(line, "'call' needs a call, as in {{% call macro() %}}");
    out.name = "caller";
    out.blocks.push_back(closed_body("endcall"));
    return out;
  }

  Statement filter_statement() {
    Statement out{.type = Type::FilterBlock};
    do {
      out.filters.push_back(expressions_.filter_call());
    } while (cursor().skip_operator("|"));
    out.blocks.push_back(body({"endfilter"}).first);
    return out;
  }

  Statement with_statement() {
    Statement out{.type = Type::With};
    while (cursor().current().type != Token::Type::StatementEnd && !cursor().at_operator(":")) {
      if (!out.targets.empty()) cursor().expect_operator(",");
      out.targets.push_back(target(false, {}));
      cursor().expect_operator("=");
      out.expressions.push_back(expressions_.expression());
    }
    out.blocks.push_back(body({"endwith"}).first);
    return out;
  }

  Statement print_statement() {
    Statement out{.type = Type::Output};
    while (cursor().current().type != Token::Type::StatementEnd) {
      if (!out.expressions.empty()) cursor().expect_operator(",");
      out.expressions.push_back(expressions_.expression());
    }
    return out;
  }

  // A name, name.attribute where namespaces may be assigned to, or several in a row or in parentheses.
  Target target(bool with_namespace, std::string_view end_word) {
    const int line = cursor().current().line;
    std::vector<Target> parts;
    bool several = false;
    while (true) {
      parts.push_back(single_target(with_namespace, end_word));
      if (!cursor().skip_operator(",")) break;
      several = true;
      const Token& token = cursor().current();
      const bool ends = token.type == Token::Type::StatementEnd || cursor().at_operator("=") ||
                        cursor().at_operator(")") ||
                        (token.type == Token::Type::Name && token.text == end_word);
      if (ends) break;
    }
    if (several) {
      const bool attribute =
          std::any_of(parts.begin(), parts.end(), [](const Target& one) { return !one.attribute.empty(); });
      if (attribute && !with_namespace) cursor().fail_syntax(line, "cannot assign to an attribute here");
      return {.variable = -1, .attribute = {}, .parts = std::move(parts)};
    }
    return std::move(parts.front());
  }

  Target single_target(bool with_namespace, std::string_view end_word) {
    const auto nested = expressions_.deeper();
    if (cursor().skip_operator("(")) {
      Target out = target(with_namespace, end_word);
      cursor().expect_operator(")");
      return out;
    }
    const Token name = cursor().expect_name();
    constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), name.text) != std::end(kConstants)) {
      cursor().fail_syntax(name.line, "cannot assign to '{}'", name.text);
    }
    if (with_namespace && cursor().skip_operator(".")) {
      return {
          .variable = expressions_.loaded(name.text), .attribute = cursor().expect_name().text, .parts = {}};
    }
    return {.variable = expressions_.stored(name.text), .attribute = {}, .parts = {}};
  }

  // Functions come from the template itself or from us, so one that neither has can be refused now.
  void check_functions() {
    if (const int line = expressions_.self_line(); line > 0 && !expressions_.is_stored("self")) {
      cursor().fail_unsupported(line, "'self' is not supported: templates cannot have blocks");
    }
    for (const auto& [name, line] : expressions_.called_names()) {
      if (expressions_.is_stored(name) || is_function(name) || name == "caller") continue;
      if (name == "loop")
        cursor().fail_unsupported(line, "calling loop() (a recursive 'for') is not supported");
      cursor().fail_unsupported(line, "function '{}' is not known", name);
    }
    for (const auto& call : expressions_.unknown_methods()) {
      if (call.variable >= 0 && namespaces_.contains(call.variable)) continue;
      cursor().fail_unsupported(call.line, "method '.{}()' is not known", call.name);
    }
  }

  TokenCursor& cursor() { return expressions_.cursor(); }

  Program program_;
  ExpressionParser expressions_;
  std::vector<std::pair<std::string, int>> open_;  // statements we are inside of, with their lines
  std::unordered_set<int> namespaces_;             // variables that are set to a namespace somewhere
  int loops_ = 0;
};

}  // namespace

Program parse(std::string_view source, std::string template_name) {
  return Parser(source, std::move(template_name)).run();
}

}  // namespace redline::text::jinja
