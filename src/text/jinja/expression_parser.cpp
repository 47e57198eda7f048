// Recursive descent, one function per level of precedence.
#include "text/jinja/expression_parser.hpp"

#include <algorithm>
#include <charconv>

#include "text/jinja/filters.hpp"
#include "text/jinja/methods.hpp"
#include "text/jinja/tests.hpp"

namespace redline::text::jinja {
namespace {

using Type = Expression::Type;

constexpr int kMostNesting = 100;  // brackets in brackets, blocks in blocks: a dozen stack frames each
constexpr int kMostDepth = 300;    // of a tree; a + b + c + … makes one level per operator

template <class... Parts>
std::vector<ExpressionPtr> parts_of(Parts... parts) {
  std::vector<ExpressionPtr> out;
  (out.push_back(std::move(parts)), ...);
  return out;
}

}  // namespace

ExpressionParser::Deeper::Deeper(ExpressionParser& parser) : parser_(parser) {
  if (parser.nesting_ >= kMostNesting) {
    parser.cursor_.fail_syntax(parser.cursor_.current().line, "nested more than {} deep", kMostNesting);
  }
  ++parser.nesting_;
}

void ExpressionParser::measure(Expression& expression) const {
  int depth = 0;
  const auto see = [&](const ExpressionPtr& part) {
    if (part) depth = std::max(depth, part->depth);
  };
  for (const auto& part : expression.parts) see(part);
  for (const auto& part : expression.arguments.positional) see(part);
  for (const auto& [name, part] : expression.arguments.named) see(part);
  see(expression.arguments.spread_list);
  see(expression.arguments.spread_mapping);
  expression.depth = depth + 1;
  if (expression.depth > kMostDepth)
    cursor_.fail_syntax(expression.line, "an expression of more than {} levels", kMostDepth);
}

ExpressionPtr ExpressionParser::make(Type type, int line, std::vector<ExpressionPtr> parts) {
  auto out = std::make_unique<Expression>();
  out->type = type;
  out->line = line;
  out->parts = std::move(parts);
  measure(*out);
  return out;
}

ExpressionPtr ExpressionParser::constant(Value value, int line) {
  auto out = make(Type::Constant, line);
  out->constant = std::move(value);
  return out;
}

int ExpressionParser::loaded(const std::string& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<int>(program_.names.size()));
  if (is_new) program_.names.push_back(name);
  return found->second;
}

int ExpressionParser::stored(const std::string& name) {
  stored_.insert(name);
  return loaded(name);
}

bool ExpressionParser::at_tuple_end(std::string_view end_word) const {
  const Token& token = cursor_.current();
  return token.type == Token::Type::OutputEnd || token.type == Token::Type::StatementEnd ||
         cursor_.at_operator(")") || (!end_word.empty() && cursor_.at_name(end_word));
}

ExpressionPtr ExpressionParser::tuple() { return tuple_of(true, {}, false); }
ExpressionPtr ExpressionParser::tuple_without_condition(std::string_view end_word) {
  return tuple_of(false, end_word, false);
}

ExpressionPtr ExpressionParser::tuple_of(bool with_condition, std::string_view end_word, bool parenthesised) {
  const int line = cursor_.current().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) cursor_.expect_operator(",");
    if (at_tuple_end(end_word)) break;
    items.push_back(with_condition ? expression() : disjunction());
    if (!cursor_.at_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !parenthesised)
    cursor_.fail_syntax(line, "expected an expression, found {}", describe(cursor_.current()));
  return make(Type::Tuple, line, std::move(items));
}

ExpressionPtr ExpressionParser::expression() {
  const auto nested = deeper();
  const int line = cursor_.current().line;
  ExpressionPtr value = disjunction();
  while (cursor_.skip_name("if")) {
    ExpressionPtr test = disjunction();
    ExpressionPtr otherwise = cursor_.skip_name("else") ? expression() : nullptr;
    value = make(Type::Conditional, line, parts_of(std::move(test), std::move(value), std::move(otherwise)));
  }
  return value;
}

ExpressionPtr ExpressionParser::disjunction() {
  const int line = cursor_.current().line;
  ExpressionPtr left = conjunction();
  while (cursor_.skip_name("or")) left = make(Type::Or, line, parts_of(std::move(left), conjunction()));
  return left;
}

ExpressionPtr ExpressionParser::conjunction() {
  const int line = cursor_.current().line;
  ExpressionPtr left = negation();
  while (cursor_.skip_name("and")) left = make(Type::And, line, parts_of(std::move(left), negation()));
  return left;
}

ExpressionPtr ExpressionParser::negation() {
  const int line = cursor_.current().line;
  if (!cursor_.skip_name("not")) return comparison();
  const auto nested = deeper();
  return make(Type::Not, line, parts_of(negation()));
}

bool ExpressionParser::comparison_operator(Comparison& out) {
  constexpr std::pair<std::string_view, Comparison> kSigns[] = {
      {"==", Comparison::Equal},     {"!=", Comparison::NotEqual}, {"<", Comparison::Less},
      {"<=", Comparison::LessEqual}, {">", Comparison::Greater},   {">=", Comparison::GreaterEqual}};
  for (const auto& [sign, comparison] : kSigns) {
    if (!cursor_.skip_operator(sign)) continue;
    out = comparison;
    return true;
  }
  if (cursor_.skip_name("in")) {
    out = Comparison::In;
    return true;
  }
  if (cursor_.at_name("not") && cursor_.ahead().type == Token::Type::Name && cursor_.ahead().text == "in") {
    cursor_.next();
    cursor_.next();
    out = Comparison::NotIn;
    return true;
  }
  return false;
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = cursor_.current().line;
  ExpressionPtr first = sum();
  std::vector<ExpressionPtr> parts;
  std::vector<Comparison> comparisons;
  for (Comparison one{}; comparison_operator(one);) {
    comparisons.push_back(one);
    parts.push_back(sum());
  }
  if (comparisons.empty()) return first;
  parts.insert(parts.begin(), std::move(first));
  ExpressionPtr out = make(Type::Compare, line, std::move(parts));
  out->comparisons = std::move(comparisons);
  return out;
}

ExpressionPtr ExpressionParser::sum() {
  const int line = cursor_.current().line;
  ExpressionPtr left = concatenation();
  while (cursor_.at_operator("+") || cursor_.at_operator("-")) {
    const Operator operation = cursor_.next().text == "+" ? Operator::Add : Operator::Subtract;
    left = make(Type::Compute, line, parts_of(std::move(left), concatenation()));
    left->operation = operation;
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = cursor_.current().line;
  std::vector<ExpressionPtr> parts = parts_of(product());
  while (cursor_.skip_operator("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts.front()) : make(Type::Concat, line, std::move(parts));
}

ExpressionPtr ExpressionParser::product() {
  constexpr std::pair<std::string_view, Operator> kSigns[] = {{"*", Operator::Multiply},
                                                              {"/", Operator::Divide},
                                                              {"//", Operator::FloorDivide},
                                                              {"%", Operator::Modulo}};
  const int line = cursor_.current().line;
  ExpressionPtr left = power();
  while (true) {
    const auto found = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [&](const auto& one) { return cursor_.at_operator(one.first); });
    if (found == std::end(kSigns)) return left;
    cursor_.next();
    left = make(Type::Compute, line, parts_of(std::move(left), power()));
    left->operation = found->second;
  }
}

ExpressionPtr ExpressionParser::power() {
  const int line = cursor_.current().line;
  ExpressionPtr left = unary(true);
  while (cursor_.skip_operator("**")) {  // to the left, unlike Python's, and below the sign: -2 ** 2 is 4
    left = make(Type::Compute, line, parts_of(std::move(left), unary(true)));
    left->operation = Operator::Power;
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const int line = cursor_.current().line;
  ExpressionPtr value;
  if (cursor_.at_operator("-") || cursor_.at_operator("+")) {
    const auto nested = deeper();
    const Type type = cursor_.next().text == "-" ? Type::Negate : Type::Plus;
    value = make(type, line, parts_of(unary(false)));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::primary() {
  const Token token = cursor_.current();
  switch (token.type) {
    case Token::Type::Name:
      return name_or_constant();
    case Token::Type::Integer:
    case Token::Type::Float:
      return number();
    case Token::Type::String: {
      std::string text;
      while (cursor_.current().type == Token::Type::String) text += cursor_.next().text;  // 'a' 'b' is 'ab'
      return constant(Value::string(std::move(text)), token.line);
    }
    default:
      break;
  }
  if (cursor_.skip_operator("(")) {
    const auto nested = deeper();
    ExpressionPtr inside = tuple_of(true, {}, true);
    cursor_.expect_operator(")");
    return inside;
  }
  if (cursor_.at_operator("[")) return list();
  if (cursor_.at_operator("{")) return mapping();
  cursor_.fail_syntax(token.line, "expected an expression, found {}", describe(token));
}

ExpressionPtr ExpressionParser::name_or_constant() {
  const Token token = cursor_.next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return constant(Value::boolean(true), token.line);
  if (name == "false" || name == "False") return constant(Value::boolean(false), token.line);
  if (name == "none" || name == "None") return constant(Value::none(), token.line);
  special_.varargs = special_.varargs || name == "varargs";
  special_.kwargs = special_.kwargs || name == "kwargs";
  special_.caller = special_.caller || name == "caller";
  if (name == "self" && self_line_ == 0) self_line_ = token.line;
  ExpressionPtr out = make(Type::Name, token.line);
  out->variable = loaded(name);
  return out;
}

ExpressionPtr ExpressionParser::number() {
  const Token token = cursor_.next();
  const std::string& text = token.text;
  if (token.type == Token::Type::Float)
    return constant(Value::number(std::strtod(text.c_str(), nullptr)), token.line);
  int base = 10;
  std::size_t begin = 0;
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    begin = base == 10 ? 0 : 2;
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + text.size(), value, base);
  if (result.ec != std::errc{})
    cursor_.fail_unsupported(token.line, "the integer {} does not fit 64 bits", text);
  return constant(Value::integer(value), token.line);
}

ExpressionPtr ExpressionParser::list() {
  const auto nested = deeper();
  const int line = cursor_.current().line;
  cursor_.expect_operator("[");
  std::vector<ExpressionPtr> items;
  while (!cursor_.at_operator("]")) {
    if (!items.empty()) cursor_.expect_operator(",");
    if (cursor_.at_operator("]")) break;
    items.push_back(expression());
  }
  cursor_.expect_operator("]");
  return make(Type::List, line, std::move(items));
}

ExpressionPtr ExpressionParser::mapping() {
  const auto nested = deeper();
  const int line = cursor_.current().line;
  cursor_.expect_operator("{");
  std::vector<ExpressionPtr> items;
  while (!cursor_.at_operator("}")) {
    if (!items.empty()) cursor_.expect_operator(",");
    if (cursor_.at_operator("}")) break;
    items.push_back(expression());
    cursor_.expect_operator(":");
    items.push_back(expression());
  }
  cursor_.expect_operator("}");
  return make(Type::Mapping, line, std::move(items));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr value) {
  while (true) {
    if (cursor_.at_operator(".") || cursor_.at_operator("[")) {
      value = subscript(std::move(value));
    } else if (cursor_.at_operator("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr value) {
  const int line = cursor_.current().line;
  if (cursor_.skip_operator(".")) {
    const Token token = cursor_.next();
    if (token.type == Token::Type::Name) {
      ExpressionPtr out = make(Type::Attribute, line, parts_of(std::move(value)));
      out->name = token.text;
      return out;
    }
    std::int64_t index = 0;
    const bool number =
        token.type == Token::Type::Integer &&
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), index).ec == std::errc{};
    if (!number) cursor_.fail_syntax(line, "expected a name or number after '.', found {}", describe(token));
    return make(Type::Item, line, parts_of(std::move(value), constant(Value::integer(index), line)));
  }
  const auto nested = deeper();
  cursor_.expect_operator("[");
  std::vector<ExpressionPtr> keys;
  bool sliced = false;  // not to be read from the keys: a key may be x[1:2], a slice of something else
  while (!cursor_.at_operator("]")) {
    if (!keys.empty()) cursor_.expect_operator(",");
    keys.push_back(subscript_item(sliced));
  }
  cursor_.expect_operator("]");
  if (sliced && keys.size() > 1)
    cursor_.fail_unsupported(line, "several slices in one pair of brackets are not supported");
  if (sliced) {
    ExpressionPtr out = std::move(keys.front());
    out->parts.insert(out->parts.begin(), std::move(value));
    measure(*out);
    return out;
  }
  ExpressionPtr key = keys.size() == 1 ? std::move(keys.front()) : make(Type::Tuple, line, std::move(keys));
  return make(Type::Item, line, parts_of(std::move(value), std::move(key)));
}

// A key, or start:stop:step with any of them missing.
ExpressionPtr ExpressionParser::subscript_item(bool& sliced) {
  const int line = cursor_.current().line;
  ExpressionPtr start;
  if (!cursor_.at_operator(":")) {
    start = expression();
    if (!cursor_.at_operator(":")) return start;
  }
  cursor_.expect_operator(":");
  sliced = true;
  const auto bound = [&]() -> ExpressionPtr {
    const bool missing = cursor_.at_operator(":") || cursor_.at_operator("]") || cursor_.at_operator(",");
    return missing ? nullptr : expression();
  };
  ExpressionPtr stop = bound();
  ExpressionPtr step = cursor_.skip_operator(":") ? bound() : nullptr;
  return make(Type::Slice, line, parts_of(std::move(start), std::move(stop), std::move(step)));
}

ExpressionPtr ExpressionParser::call(ExpressionPtr called) {
  const int line = cursor_.current().line;
  if (called->type == Type::Name)
    called_.emplace_back(program_.names[static_cast<std::size_t>(called->variable)], called->line);
  if (called->type == Type::Attribute && !is_method_name(called->name)) {
    unknown_methods_.push_back({called->name, called->parts[0]->variable, called->line});
  }
  CallArguments given = arguments();
  ExpressionPtr out = make(Type::Call, line, parts_of(std::move(called)));
  out->arguments = std::move(given);
  measure(*out);
  return out;
}

CallArguments ExpressionParser::arguments() {
  const auto nested = deeper();
  const int line = cursor_.current().line;
  cursor_.expect_operator("(");
  CallArguments out;
  const auto require = [&](bool good) {
    if (!good) cursor_.fail_syntax(line, "arguments in the wrong order");
  };
  bool comma_due = false;
  while (!cursor_.at_operator(")")) {
    if (comma_due) {
      cursor_.expect_operator(",");
      if (cursor_.at_operator(")")) break;
    }
    comma_due = true;
    if (cursor_.skip_operator("*")) {
      require(!out.spread_list && !out.spread_mapping);
      out.spread_list = expression();
    } else if (cursor_.skip_operator("**")) {
      require(!out.spread_mapping);
      out.spread_mapping = expression();
    } else if (cursor_.current().type == Token::Type::Name && cursor_.ahead().type == Token::Type::Operator &&
               cursor_.ahead().text == "=") {
      require(!out.spread_mapping);
      const std::string name = cursor_.next().text;
      cursor_.next();
      for (const auto& [earlier, value] : out.named) {
        if (earlier == name) cursor_.fail_syntax(line, "argument '{}' is given twice", name);
      }
      out.named.emplace_back(name, expression());
    } else {
      require(!out.spread_list && !out.spread_mapping && out.named.empty());
      out.positional.push_back(expression());
    }
  }
  cursor_.expect_operator(")");
  return out;
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  while (true) {
    if (cursor_.skip_operator("|")) {
      value = filtered(std::move(value));
    } else if (cursor_.at_name("is")) {
      value = tested(std::move(value));
    } else if (cursor_.at_operator("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

std::string ExpressionParser::dotted_name() {
  std::string name = cursor_.expect_name().text;
  while (cursor_.skip_operator(".")) name += "." + cursor_.expect_name().text;
  return name;
}

FilterCall ExpressionParser::filter_call() {
  FilterCall out;
  out.line = cursor_.current().line;
  const std::string name = dotted_name();
  out.filter = find_filter(name);
  if (out.filter == nullptr) cursor_.fail_unsupported(out.line, "filter '{}' is not known", name);
  if (cursor_.at_operator("(")) out.arguments = arguments();
  check_filter(*out.filter, out.arguments, out.line);
  return out;
}

ExpressionPtr ExpressionParser::filtered(ExpressionPtr value) {
  FilterCall call = filter_call();
  ExpressionPtr out = make(Type::Filter, call.line, parts_of(std::move(value)));
  out->filter = call.filter;
  out->arguments = std::move(call.arguments);
  measure(*out);
  return out;
}

void ExpressionParser::check_filter(const Filter& filter, const CallArguments& given, int line) const {
  if (filter.name == "map") check_named_argument(given, 0, true, line);
  if (filter.name == "select" || filter.name == "reject") check_named_argument(given, 0, false, line);
  if (filter.name == "selectattr" || filter.name == "rejectattr") check_named_argument(given, 1, false, line);
  if (filter.parameters == "*") return;
  std::vector<std::string_view> parameters;
  for (std::string_view rest = filter.parameters; !rest.empty();) {
    const std::size_t blank = rest.find(' ');
    parameters.push_back(rest.substr(0, blank));
    rest = blank == std::string_view::npos ? std::string_view{} : rest.substr(blank + 1);
  }
  if (given.positional.size() > parameters.size()) {
    cursor_.fail_unsupported(line, "filter '{}' takes at most {} arguments, not {}", filter.name,
                             parameters.size(), given.positional.size());
  }
  for (const auto& [name, value] : given.named) {
    if (std::find(parameters.begin(), parameters.end(), name) != parameters.end()) continue;
    cursor_.fail_unsupported(line, "filter '{}' has no argument '{}'", filter.name, name);
  }
}

// map('name') and select('name') name a filter or a test in a string.
void ExpressionParser::check_named_argument(const CallArguments& given, std::size_t index, bool wants_filter,
                                            int line) const {
  if (given.positional.size() <= index) return;
  const Expression& argument = *given.positional[index];
  if (argument.type != Type::Constant || !argument.constant.is_string()) return;
  const std::string& name = argument.constant.as_string();
  if (wants_filter && find_filter(name) == nullptr)
    cursor_.fail_unsupported(line, "filter '{}' is not known", name);
  if (!wants_filter && find_test(name) == nullptr)
    cursor_.fail_unsupported(line, "test '{}' is not known", name);
}

ExpressionPtr ExpressionParser::tested(ExpressionPtr value) {
  const int line = cursor_.next().line;  // is
  const bool negated = cursor_.skip_name("not");
  const std::string name = dotted_name();
  const Test* test = find_test(name);
  if (test == nullptr) cursor_.fail_unsupported(line, "test '{}' is not known", name);
  CallArguments given;
  const Token token = cursor_.current();
  const bool begins_argument =
      token.type == Token::Type::String || token.type == Token::Type::Integer ||
      token.type == Token::Type::Float || cursor_.at_operator("[") || cursor_.at_operator("{") ||
      (token.type == Token::Type::Name && token.text != "else" && token.text != "or" && token.text != "and");
  if (cursor_.at_operator("(")) {
    given = arguments();
  } else if (begins_argument && cursor_.at_name("is")) {
    cursor_.fail_syntax(token.line, "tests with 'is' cannot be chained");
  } else if (begins_argument) {
    // `x is defined if y`: Jinja too takes the word for an argument, and then complains.
    const auto nested = deeper();
    given.positional.push_back(postfix(primary()));
  }
  const bool spread = given.spread_list || given.spread_mapping;
  if (!given.named.empty() || spread ||
      given.positional.size() != static_cast<std::size_t>(test->arguments)) {
    cursor_.fail_unsupported(line, "test '{}' takes {} arguments, not {}", name, test->arguments,
                             given.positional.size() + given.named.size() + (spread ? 1 : 0));
  }
  ExpressionPtr out = make(Type::Test, line, parts_of(std::move(value)));
  out->test = test;
  out->arguments = std::move(given);
  measure(*out);
  return negated ? make(Type::Not, line, parts_of(std::move(out))) : std::move(out);
}

}  // namespace redline::text::jinja
