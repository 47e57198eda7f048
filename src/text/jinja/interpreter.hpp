// Walking a parsed template: scopes, loops, macros, output. Template is what the outside uses; Callable is
// here since macros hold the scope they were made in.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja/budget.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

struct Program;
struct Scope;
struct Statement;

struct Callable {
  enum class What : std::uint8_t { Macro, Method, Function };
  What what = What::Function;
  std::string name;
  Value self;                        // of a method
  const Statement* macro = nullptr;  // of a macro: its statement and where it was made
  std::shared_ptr<Scope> scope;
  std::string shown() const;
};

struct RenderOptions {
  Limits limits;
  std::optional<std::tm> now;  // for strftime_now; a template that asks without it fails
};

// A template that was understood completely. May be rendered by many threads at once.
class Template {
 public:
  // `name` begins every error: "NAME, line N: …". Throws BadCheckpoint for a syntax error, Unsupported for
  // what we do not know.
  Template(std::string_view source, std::string name);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  // Throws BadInput: the template's own sentence as it is for raise_exception, everything else with name and
  // line.
  std::string render(const Mapping& variables, const RenderOptions& options = {}) const;

 private:
  std::unique_ptr<const Program> program_;
};

}  // namespace redline::text::jinja
