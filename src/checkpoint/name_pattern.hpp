// The three ways in which quantisation configs name modules: exactly, with shell-style wildcards (fnmatch),
// or by a regular expression ("re:…", matched from the start of the name as Python's re.match does). A small
// matcher of its own: the patterns come from foreign files, so no pattern may take more than (its length ×
// the name's length) steps, which the standard library's matcher does not promise. A regular expression with
// a construct unknown here is refused when it is made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redline::checkpoint {

class NamePattern {
 public:
  static NamePattern exact(std::string_view name);
  static NamePattern wildcards(std::string_view pattern);  // * ? [abc] [!a-z], case matters, * crosses dots
  static std::optional<NamePattern> regex(std::string_view expression);  // nullopt: not understood

  bool matches(std::string_view name) const;
  // For exact names and those without wildcards: the name, so that callers can keep them in a table.
  const std::string* plain() const;

  struct Program;  // a regular expression, ready to run; defined in the .cpp

 private:
  enum class Kind { Exact, Wildcards, Regex };
  NamePattern(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_;
  std::string text_;
  std::shared_ptr<const Program> program_;
};

}  // namespace redline::checkpoint
