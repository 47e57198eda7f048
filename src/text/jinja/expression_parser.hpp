// Expressions, by Jinja's precedence: x if y else z, or, and, not, comparisons, + -, ~, * / // %, **, sign,
// postfix, filters. Also keeps what the whole template says about its names, for the checks at the end of
// parsing.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "text/jinja/syntax.hpp"
#include "text/jinja/token_cursor.hpp"

namespace redline::text::jinja {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view source, const std::string& template_name, Program& program)
      : cursor_(tokenize(source, template_name), template_name), program_(program) {}

  TokenCursor& cursor() { return cursor_; }
  ExpressionPtr expression();  // with x if y else z
  ExpressionPtr tuple();       // one expression, or several with commas
  ExpressionPtr tuple_without_condition(std::string_view end_word);
  FilterCall filter_call();  // name and arguments; the '|' is behind us

  int loaded(const std::string& name);  // the number of a variable
  int stored(const std::string& name);  // the same, and the template assigns it
  bool is_stored(const std::string& name) const { return stored_.contains(name); }
  const std::vector<std::pair<std::string, int>>& called_names() const { return called_; }
  int self_line() const { return self_line_; }  // where `self` is first read; 0: nowhere

  // Calls of methods that no type has: fine only on a namespace, which may keep macros.
  struct MethodCall {
    std::string name;
    int variable = -1;  // of what it is called on, if that is a plain name
    int line = 1;
  };
  const std::vector<MethodCall>& unknown_methods() const { return unknown_methods_; }

  // Which of a macro's hidden variables its body mentions.
  struct Special {
    bool varargs = false, kwargs = false, caller = false;
  };
  Special watch_special_names() { return std::exchange(special_, {}); }
  Special end_watch(Special outer) { return std::exchange(special_, outer); }

  // Held while inside something that can be nested; fails past a limit.
  class Deeper {
   public:
    explicit Deeper(ExpressionParser& parser);
    ~Deeper() { --parser_.nesting_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    ExpressionParser& parser_;
  };
  Deeper deeper() { return Deeper(*this); }

 private:
  using Level = ExpressionPtr (ExpressionParser::*)();

  ExpressionPtr tuple_of(bool with_condition, std::string_view end_word, bool parenthesised);
  bool at_tuple_end(std::string_view end_word) const;
  ExpressionPtr disjunction();
  ExpressionPtr conjunction();
  ExpressionPtr negation();
  ExpressionPtr comparison();
  bool comparison_operator(Comparison& out);
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr signed_value();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr name_or_constant();
  ExpressionPtr number();
  ExpressionPtr list();
  ExpressionPtr mapping();
  ExpressionPtr postfix(ExpressionPtr value);
  ExpressionPtr subscript(ExpressionPtr value);
  ExpressionPtr subscript_item(bool& sliced);
  ExpressionPtr call(ExpressionPtr called);
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr filtered(ExpressionPtr value);
  ExpressionPtr tested(ExpressionPtr value);
  CallArguments arguments();
  void check_filter(const Filter& filter, const CallArguments& arguments, int line) const;
  void check_named_argument(const CallArguments& arguments, std::size_t index, bool wants_filter,
                            int line) const;
  std::string dotted_name();

  ExpressionPtr make(Expression::Type type, int line, std::vector<ExpressionPtr> parts = {});
  ExpressionPtr constant(Value value, int line);
  void measure(Expression& expression) const;  // sets its depth from its parts'

  TokenCursor cursor_;
  Program& program_;
  std::unordered_map<std::string, int> numbers_;
  std::unordered_set<std::string> stored_;
  std::vector<std::pair<std::string, int>> called_;
  int self_line_ = 0;
  std::vector<MethodCall> unknown_methods_;
  Special special_;
  int nesting_ = 0;
};

}  // namespace redline::text::jinja
