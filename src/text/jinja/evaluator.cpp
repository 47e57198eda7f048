// Expressions. The line is set again before each operation, since operands may have come from other lines.
#include "text/jinja/evaluator.hpp"

#include "core/error.hpp"
#include "text/jinja/evaluation_depth.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/functions.hpp"
#include "text/jinja/methods.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/tests.hpp"

namespace redline::text::jinja {

using Type = Expression::Type;

const Value* Scope::find(int variable) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [have, value] : scope->variables) {
      if (have == variable) return &value;
    }
  }
  return nullptr;
}

void Scope::set(int variable, Value value) {
  for (auto& [have, old] : variables) {
    if (have != variable) continue;
    old = std::move(value);
    return;
  }
  variables.emplace_back(variable, std::move(value));
}

Value Evaluator::evaluate(const Expression& expression) {
  const EvaluationDepth deeper(depth_, budget_);
  line_ = expression.line;
  switch (expression.type) {
    case Type::Constant:
      return expression.constant;
    case Type::Name:
      return evaluate_name(expression);
    case Type::List:
      return Value::list(evaluate_all(expression.parts));
    case Type::Tuple:
      return Value::tuple(evaluate_all(expression.parts));
    case Type::Mapping:
      return evaluate_mapping(expression);
    case Type::Not:
      return Value::boolean(!is_true(evaluate(*expression.parts[0])));
    case Type::Negate:
      return negate(evaluate(*expression.parts[0]));
    case Type::Plus:
      return plus(evaluate(*expression.parts[0]));
    case Type::And: {
      Value left = evaluate(*expression.parts[0]);
      return is_true(left) ? evaluate(*expression.parts[1]) : left;
    }
    case Type::Or: {
      Value left = evaluate(*expression.parts[0]);
      return is_true(left) ? left : evaluate(*expression.parts[1]);
    }
    case Type::Compute:
      return evaluate_compute(expression);
    case Type::Concat:
      return evaluate_concat(expression);
    case Type::Compare:
      return evaluate_compare(expression);
    case Type::Conditional:
      return evaluate_conditional(expression);
    case Type::Attribute: {
      const Value object = evaluate(*expression.parts[0]);
      line_ = expression.line;
      return attribute_of(object, expression.name);
    }
    case Type::Item:
      return evaluate_item(expression);
    case Type::Slice:
      return evaluate_slice(expression);
    case Type::Call:
      return evaluate_call(expression);
    case Type::Filter:
      return evaluate_filter(expression);
    case Type::Test:
      return evaluate_test(expression);
  }
  return {};
}

Value Evaluator::evaluate_name(const Expression& expression) {
  if (const Value* found = scope_->find(expression.variable)) return *found;
  const std::string& name = program_.names[static_cast<std::size_t>(expression.variable)];
  if (is_function(name)) {
    return Value::callable(std::make_shared<const Callable>(
        Callable{.what = Callable::What::Function, .name = name, .self = {}, .macro = nullptr, .scope = {}}));
  }
  return Value::undefined("'" + name + "' is undefined");
}

std::vector<Value> Evaluator::evaluate_all(const std::vector<ExpressionPtr>& expressions) {
  budget_.charge_items(expressions.size());
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const auto& expression : expressions) values.push_back(evaluate(*expression));
  return values;
}

Value Evaluator::evaluate_mapping(const Expression& expression) {
  budget_.charge_items(expression.parts.size());
  Mapping out;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    Value key = evaluate(*expression.parts[i]);
    Value value = evaluate(*expression.parts[i + 1]);
    line_ = expression.line;
    out.set(std::move(key), std::move(value));
  }
  return Value::mapping(std::move(out));
}

Value Evaluator::evaluate_compute(const Expression& expression) {
  const Value left = evaluate(*expression.parts[0]);
  const Value right = evaluate(*expression.parts[1]);
  line_ = expression.line;
  return compute(budget_, expression.operation, left, right);
}

Value Evaluator::evaluate_concat(const Expression& expression) {
  std::string out;
  for (const auto& part : expression.parts) {
    const Value value = evaluate(*part);
    line_ = expression.line;
    out += text_of(budget_, value);
  }
  return make_string(budget_, std::move(out));
}

Value Evaluator::evaluate_compare(const Expression& expression) {
  Value left = evaluate(*expression.parts[0]);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = evaluate(*expression.parts[i + 1]);
    line_ = expression.line;
    if (!compare(budget_, expression.comparisons[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Evaluator::evaluate_conditional(const Expression& expression) {
  if (is_true(evaluate(*expression.parts[0]))) return evaluate(*expression.parts[1]);
  if (expression.parts[2]) return evaluate(*expression.parts[2]);
  return Value::undefined("the inline if-expression on line " + std::to_string(expression.line) +
                          " evaluated to false and no else section was defined.");
}

Value Evaluator::evaluate_item(const Expression& expression) {
  const Value object = evaluate(*expression.parts[0]);
  const Value key = evaluate(*expression.parts[1]);
  line_ = expression.line;
  return item_of(object, key);
}

Value Evaluator::evaluate_slice(const Expression& expression) {
  const Value object = evaluate(*expression.parts[0]);
  const auto bound = [&](const ExpressionPtr& part) -> std::optional<std::int64_t> {
    if (!part) return std::nullopt;
    const Value value = evaluate(*part);
    line_ = expression.line;
    if (value.is_none()) return std::nullopt;
    const auto whole = whole_number(value);
    ensure(!value.is(Kind::BigInteger), ErrorKind::BadInput, "a slice index does not fit 64 bits");
    ensure(whole.has_value(), ErrorKind::BadInput, "slice indices must be integers or none, not '{}'",
           type_name(value));
    return whole;
  };
  Slice slice;
  slice.start = bound(expression.parts[1]);
  slice.stop = bound(expression.parts[2]);
  slice.step = bound(expression.parts[3]);
  line_ = expression.line;
  return slice_of(budget_, object, slice);
}

Arguments Evaluator::evaluate_arguments(const CallArguments& arguments) {
  Arguments out;
  out.positional = evaluate_all(arguments.positional);
  for (const auto& [name, expression] : arguments.named) out.named.emplace_back(name, evaluate(*expression));
  if (arguments.spread_list) {
    for (Value& item : items_of(budget_, evaluate(*arguments.spread_list)))
      out.positional.push_back(std::move(item));
  }
  if (arguments.spread_mapping) {
    const Value named = evaluate(*arguments.spread_mapping);
    ensure(named.is_mapping(), ErrorKind::BadInput, "** needs a mapping, not '{}'", type_name(named));
    for (const auto& [key, value] : named.as_mapping().entries()) {
      ensure(key.is_string(), ErrorKind::BadInput, "** needs a mapping whose keys are strings");
      out.named.emplace_back(key.as_string(), value);
    }
  }
  return out;
}

Value Evaluator::evaluate_call(const Expression& expression) {
  const Value called = evaluate(*expression.parts[0]);
  const Arguments arguments = evaluate_arguments(expression.arguments);
  line_ = expression.line;
  Value result = call(called, arguments);
  line_ = expression.line;
  return result;
}

Value Evaluator::evaluate_filter(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  const Arguments arguments = evaluate_arguments(expression.arguments);
  line_ = expression.line;
  return expression.filter->apply(budget_, value, arguments);
}

Value Evaluator::evaluate_test(const Expression& expression) {
  const Value value = evaluate(*expression.parts[0]);
  const Arguments arguments = evaluate_arguments(expression.arguments);
  line_ = expression.line;
  return Value::boolean(expression.test->holds(budget_, value, arguments));
}

Value Evaluator::call(const Value& called, const Arguments& arguments) {
  refuse_undefined(called);
  ensure(called.is(Kind::Callable), ErrorKind::BadInput, "'{}' object is not callable", type_name(called));
  const Callable& callable = called.as_callable();
  switch (callable.what) {
    case Callable::What::Macro:
      return call_macro(callable, arguments);
    case Callable::What::Method:
      return call_method(budget_, callable.self, callable.name, arguments);
    case Callable::What::Function:
      return remember(call_function({.budget = budget_, .now = options_.now, .raised = raised_},
                                    callable.name, arguments));
  }
  return {};
}

Value Evaluator::remember(Value value) {
  if (!value.is(Kind::Namespace)) return value;
  budget_.charge(sizeof(Namespace));
  namespaces_.push_back(value.shared_namespace());
  return value;
}

}  // namespace redline::text::jinja
