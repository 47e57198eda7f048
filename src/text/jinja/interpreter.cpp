// Statements, macros and the rendering as a whole.
#include "text/jinja/interpreter.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "text/jinja/evaluation_depth.hpp"
#include "text/jinja/evaluator.hpp"
#include "text/jinja/filters.hpp"
#include "text/jinja/loop.hpp"
#include "text/jinja/operators.hpp"
#include "text/jinja/parser.hpp"

namespace redline::text::jinja {
namespace {

using Type = Statement::Type;

// Sets a variable back when its owner leaves, by an exception too.
template <class T>
class Restore {
 public:
  explicit Restore(T& variable) : variable_(variable), old_(variable) {}
  Restore(T& variable, T value) : variable_(variable), old_(std::exchange(variable, std::move(value))) {}
  ~Restore() { variable_ = std::move(old_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& variable_;
  T old_;
};

ScopePtr inside(const ScopePtr& parent) {
  return std::make_shared<Scope>(Scope{.parent = parent, .variables = {}});
}

}  // namespace

std::string Callable::shown() const {
  switch (what) {
    case What::Macro:
      return "Macro '" + name + "'";
    case What::Method:
      return "built-in method " + name;
    case What::Function:
      return "function " + name;
  }
  return name;
}

Evaluator::~Evaluator() {
  scope_.reset();
  for (const auto& space : namespaces_) space->attributes = {};
  for (const auto& scope : kept_scopes_) {
    scope->variables.clear();
    scope->parent.reset();
  }
}

std::string Evaluator::run(const Mapping& variables) {
  std::string out;
  const Restore output(output_, &out);
  const ScopePtr given = inside(nullptr);
  for (std::size_t i = 0; i < program_.names.size(); ++i) {
    if (const Value* value = variables.find(program_.names[i])) given->set(static_cast<int>(i), *value);
  }
  scope_ = inside(given);
  try {
    execute(program_.body);
  } catch (const Error& error) {
    if (raised_ || error.kind() != ErrorKind::BadInput) throw;
    throw Error(error.kind(), fmt::format("{}, line {}: {}", program_.template_name, line_, error.what()),
                error.where());
  }
  return out;
}

void Evaluator::write(std::string_view text) {
  budget_.charge(text.size());
  ensure(output_->size() + text.size() <= budget_.limits().output_bytes, ErrorKind::BadInput,
         "stopped: the output is longer than {} MiB", budget_.limits().output_bytes >> 20);
  *output_ += text;
}

Evaluator::Flow Evaluator::execute(const Block& block) {
  for (const Statement& statement : block) {
    if (const Flow flow = execute(statement); flow != Flow::On) return flow;
  }
  return Flow::On;
}

Evaluator::Flow Evaluator::execute(const Statement& statement) {
  const EvaluationDepth deeper(depth_, budget_);
  line_ = statement.line;
  switch (statement.type) {
    case Type::Data:
      write(statement.data);
      return Flow::On;
    case Type::Output:
      for (const auto& expression : statement.expressions) {
        const Value value = evaluate(*expression);
        line_ = statement.line;
        value.is_string() ? write(value.as_string()) : write(text_of(budget_, value));
      }
      return Flow::On;
    case Type::If:
      return execute_if(statement);
    case Type::For:
      return execute_for(statement);
    case Type::Set: {
      const Value value = evaluate(*statement.expressions[0]);
      line_ = statement.line;
      assign(statement.targets[0], value, *scope_);
      return Flow::On;
    }
    case Type::SetBlock: {
      Value value = Value::string(captured(statement.blocks[0]));
      value = apply_filters(statement.filters, std::move(value));
      line_ = statement.line;
      assign(statement.targets[0], value, *scope_);
      return Flow::On;
    }
    case Type::Macro:
      execute_macro(statement);
      return Flow::On;
    case Type::CallBlock:
      execute_call_block(statement);
      return Flow::On;
    case Type::FilterBlock: {
      const Value value = apply_filters(statement.filters, Value::string(captured(statement.blocks[0])));
      write(text_of(budget_, value));
      return Flow::On;
    }
    case Type::With:
      execute_with(statement);
      return Flow::On;
    case Type::Scope: {
      const Restore scope(scope_, inside(scope_));
      return execute(statement.blocks[0]);
    }
    case Type::Break:
      return Flow::Break;
    case Type::Continue:
      return Flow::Continue;
  }
  return Flow::On;
}

Evaluator::Flow Evaluator::execute_if(const Statement& statement) {
  for (std::size_t i = 0; i < statement.expressions.size(); ++i) {
    if (is_true(evaluate(*statement.expressions[i]))) return execute(statement.blocks[i]);
  }
  const bool has_else = statement.blocks.size() > statement.expressions.size();
  return has_else ? execute(statement.blocks.back()) : Flow::On;
}

Evaluator::Flow Evaluator::execute_for(const Statement& statement) {
  const auto loop = std::make_shared<Loop>();
  const ScopePtr outside = scope_;
  const Target& target = statement.targets[0];
  loop->source = items_of(budget_, evaluate(*statement.expressions[0]));
  if (const Expression* filter = statement.expressions[1].get()) {
    // Called long after this block is left: what is declared in here goes along by copy.
    loop->accepts = [this, filter, &target, &outside](const Value& item) {
      const Restore scope(scope_, inside(outside));
      assign(target, item, *scope_);
      return is_true(evaluate(*filter));
    };
  }
  // The loop outlives its statement if the template keeps it; what it refers to here does not.
  struct Close {
    Loop& loop;
    ~Close() { loop.close(); }
  } const close{*loop};
  bool any = false;
  while (loop->advance()) {
    any = true;
    budget_.step();
    const Restore scope(scope_, inside(outside));
    scope_->set(statement.loop_variable, Value::loop(loop));
    line_ = statement.line;
    assign(target, loop->current(), *scope_);
    if (execute(statement.blocks[0]) == Flow::Break) break;
  }
  if (any) return Flow::On;
  const Restore scope(scope_, inside(outside));
  return execute(statement.blocks[1]);
}

void Evaluator::assign(const Target& target, const Value& value, Scope& scope) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = items_of(budget_, value);
    ensure(items.size() == target.parts.size(), ErrorKind::BadInput,
           "{} values cannot be assigned to {} names", items.size(), target.parts.size());
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
    return;
  }
  if (target.attribute.empty()) {
    scope.set(target.variable, value);
    return;
  }
  const Value* space = scope_->find(target.variable);
  ensure(space != nullptr && space->is(Kind::Namespace), ErrorKind::BadInput,
         "cannot assign to an attribute of '{}', which is not a namespace",
         program_.names[static_cast<std::size_t>(target.variable)]);
  ensure(!target.attribute.starts_with('_'), ErrorKind::BadInput,
         "the attributes of a namespace are names that do not begin with _");
  space->as_namespace().attributes.set(target.attribute, value);
}

Value Evaluator::apply_filters(const std::vector<FilterCall>& filters, Value value) {
  for (const FilterCall& call : filters) {
    const Arguments arguments = evaluate_arguments(call.arguments);
    line_ = call.line;
    value = call.filter->apply(budget_, value, arguments);
  }
  return value;
}

std::string Evaluator::captured(const Block& block) {
  std::string out;
  const Restore output(output_, &out);
  const Restore scope(scope_, inside(scope_));
  execute(block);
  return out;
}

void Evaluator::execute_macro(const Statement& statement) {
  budget_.charge(sizeof(Callable) + sizeof(Scope));
  kept_scopes_.push_back(scope_);
  scope_->set(statement.targets[0].variable,
              Value::callable(std::make_shared<const Callable>(Callable{.what = Callable::What::Macro,
                                                                        .name = statement.name,
                                                                        .self = {},
                                                                        .macro = &statement,
                                                                        .scope = scope_})));
}

void Evaluator::execute_call_block(const Statement& statement) {
  const Expression& expression = *statement.expressions[0];
  const Value called = evaluate(*expression.parts[0]);
  Arguments arguments = evaluate_arguments(expression.arguments);
  budget_.charge(sizeof(Callable) + sizeof(Scope));
  kept_scopes_.push_back(scope_);
  arguments.named.emplace_back(
      "caller", Value::callable(std::make_shared<const Callable>(Callable{.what = Callable::What::Macro,
                                                                          .name = "caller",
                                                                          .self = {},
                                                                          .macro = &statement,
                                                                          .scope = scope_})));
  line_ = statement.line;
  write(text_of(budget_, call(called, arguments)));
}

void Evaluator::execute_with(const Statement& statement) {
  std::vector<Value> values;
  values.reserve(statement.expressions.size());
  for (const auto& expression : statement.expressions) values.push_back(evaluate(*expression));
  const Restore scope(scope_, inside(scope_));
  for (std::size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], values[i], *scope_);
  execute(statement.blocks[0]);
}

Value Evaluator::call_macro(const Callable& macro, const Arguments& arguments) {
  const EvaluationDepth deeper(depth_, budget_);
  const Statement& statement = *macro.macro;
  const auto& parameters = statement.parameters;
  std::string out;
  const Restore output(output_, &out);
  const Restore scope(scope_, inside(macro.scope));
  std::vector<bool> filled(parameters.size(), false);
  Mapping rest_named;
  for (std::size_t i = 0; i < std::min(parameters.size(), arguments.positional.size()); ++i) {
    scope_->set(parameters[i].variable, arguments.positional[i]);
    filled[i] = true;
  }
  Value caller = Value::undefined("No caller defined");
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const Parameter& one) { return one.name == name; });
    const auto index = static_cast<std::size_t>(found - parameters.begin());
    if (found != parameters.end() && !filled[index]) {
      scope_->set(found->variable, value);
      filled[index] = true;
    } else if (name == "caller" && statement.takes_caller) {
      caller = value;
    } else {
      ensure(statement.takes_keywords && found == parameters.end(), ErrorKind::BadInput,
             "macro '{}' takes no keyword argument '{}'", macro.name, name);
      rest_named.set(name, value);
    }
  }
  const bool too_many = arguments.positional.size() > parameters.size();
  ensure(!too_many || statement.takes_rest, ErrorKind::BadInput,
         "macro '{}' takes not more than {} argument(s)", macro.name, parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (filled[i]) continue;
    scope_->set(parameters[i].variable,
                parameters[i].otherwise
                    ? evaluate(*parameters[i].otherwise)
                    : Value::undefined("parameter '" + parameters[i].name + "' was not provided"));
  }
  if (statement.takes_caller) scope_->set(statement.caller_variable, caller);
  if (statement.takes_keywords)
    scope_->set(statement.keywords_variable, Value::mapping(std::move(rest_named)));
  if (statement.takes_rest) {
    std::vector<Value> rest;
    if (too_many)
      rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(parameters.size()),
                  arguments.positional.end());
    scope_->set(statement.rest_variable, Value::tuple(std::move(rest)));
  }
  execute(statement.blocks[0]);
  return make_string(budget_, std::move(out));
}

Template::Template(std::string_view source, std::string name)
    : program_(std::make_unique<const Program>(parse(source, std::move(name)))) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::string Template::render(const Mapping& variables, const RenderOptions& options) const {
  return Evaluator(*program_, options).run(variables);
}

}  // namespace redline::text::jinja
