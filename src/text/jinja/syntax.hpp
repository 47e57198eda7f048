// A parsed template: plain trees that the interpreter walks. Made once when a checkpoint is loaded, then read
// only, by any number of threads. Names of variables are numbers, so that looking one up compares no strings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/operators.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Filter;  // filters.hpp
struct Test;    // tests.hpp
struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Block = std::vector<Statement>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr spread_list, spread_mapping;  // *a, **b
};

struct Expression {
  enum class Type : std::uint8_t {
    Constant,
    Name,
    List,
    Tuple,
    Mapping,
    Not,
    Negate,
    Plus,
    And,
    Or,
    Compute,
    Concat,
    Compare,
    Conditional,
    Attribute,
    Item,
    Slice,
    Call,
    Filter,
    Test
  };
  Type type = Type::Constant;
  int line = 1;
  int depth = 1;  // of the tree below: bounds the recursion of walking and of destruction

  Value constant;
  int variable = -1;  // of Name
  std::string name;   // of Attribute
  Operator operation = Operator::Add;
  std::vector<Comparison> comparisons;  // of Compare: parts[i] comparisons[i] parts[i + 1]
  std::vector<ExpressionPtr>
      parts;                // operands in order; Conditional: test, then, else; Mapping: key, value, …
  CallArguments arguments;  // of Call, Filter, Test
  const Filter* filter = nullptr;
  const Test* test = nullptr;
};

// What is assigned to: a variable, an attribute of a namespace, or several of these.
struct Target {
  int variable = -1;
  std::string attribute;  // not empty: of the namespace that `variable` names
  std::vector<Target> parts;
};

struct Parameter {
  int variable = -1;
  std::string name;
  ExpressionPtr otherwise;
};

struct FilterCall {
  const Filter* filter = nullptr;
  CallArguments arguments;
  int line = 1;
};

struct Statement {
  enum class Type : std::uint8_t {
    Data,
    Output,
    If,
    For,
    Set,
    SetBlock,
    Macro,
    CallBlock,
    FilterBlock,
    With,
    Scope,
    Break,
    Continue
  };
  Type type = Type::Data;
  int line = 1;

  std::string data;
  std::vector<ExpressionPtr> expressions;  // Output: each; If: one test per branch; For: source, filter or
                                           // null; Set: the value; CallBlock: the call; With: the values
  std::vector<Block> blocks;               // If: one per test, then else; For: body, else; the others: body
  std::vector<Target> targets;             // For, Set, SetBlock: one; With: one per value
  std::vector<FilterCall> filters;         // SetBlock, FilterBlock
  std::string name;                        // Macro
  std::vector<Parameter> parameters;       // Macro, CallBlock
  bool takes_rest = false, takes_keywords = false, takes_caller = false;  // what a macro's body mentions
  int rest_variable = -1, keywords_variable = -1, caller_variable = -1;   // varargs, kwargs, caller
  int loop_variable = -1;                                                 // For: `loop`
};

struct Program {
  std::string template_name;
  std::vector<std::string> names;  // of variables, by number
  Block body;
};

}  // namespace redline::text::jinja
