// One rendering in progress: expressions to values (evaluator.cpp), statements to output (interpreter.cpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/arguments.hpp"
#include "text/jinja/budget.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/syntax.hpp"

namespace redline::text::jinja {

// Variables of a block; what is not here is looked for outside.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<int, Value>> variables;
  const Value* find(int variable) const;
  void set(int variable, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

class Evaluator {
 public:
  Evaluator(const Program& program, const RenderOptions& options)
      : program_(program), options_(options), budget_(options.limits) {}
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  std::string run(const Mapping& variables);

 private:
  enum class Flow : std::uint8_t { On, Break, Continue };

  // Statements. The current scope is scope_, output goes to *output_.
  Flow execute(const Block& block);
  Flow execute(const Statement& statement);
  Flow execute_if(const Statement& statement);
  Flow execute_for(const Statement& statement);
  void execute_macro(const Statement& statement);
  void execute_call_block(const Statement& statement);
  void execute_with(const Statement& statement);
  std::string captured(const Block& block);  // its output, in a scope of its own
  void assign(const Target& target, const Value& value, Scope& scope);
  void write(std::string_view text);
  Value apply_filters(const std::vector<FilterCall>& filters, Value value);

  // Expressions.
  Value evaluate(const Expression& expression);
  Value evaluate_name(const Expression& expression);
  Value evaluate_mapping(const Expression& expression);
  Value evaluate_compute(const Expression& expression);
  Value evaluate_concat(const Expression& expression);
  Value evaluate_compare(const Expression& expression);
  Value evaluate_conditional(const Expression& expression);
  Value evaluate_item(const Expression& expression);
  Value evaluate_slice(const Expression& expression);
  Value evaluate_call(const Expression& expression);
  Value evaluate_filter(const Expression& expression);
  Value evaluate_test(const Expression& expression);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& expressions);
  Arguments evaluate_arguments(const CallArguments& arguments);
  Value call(const Value& called, const Arguments& arguments);
  Value call_macro(const Callable& macro, const Arguments& arguments);
  Value remember(Value value);  // keeps what can hold itself until the end, so that it can be taken apart

  const Program& program_;
  const RenderOptions& options_;
  Budget budget_;
  ScopePtr scope_;
  std::string* output_ = nullptr;
  int line_ = 1;
  int depth_ = 0;
  bool raised_ = false;
  // A namespace may hold itself, a macro's scope the macro: rings that counting references never frees, and
  // chains too long to free by recursion. All are held here and emptied one by one at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  std::vector<ScopePtr> kept_scopes_;
};

}  // namespace redline::text::jinja
