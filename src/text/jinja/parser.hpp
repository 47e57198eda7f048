// Tokens to a syntax tree. All that a template uses and we do not know is refused here, when the checkpoint
// is loaded: statements, filters, tests, methods, functions, and arguments that a filter does not take.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/syntax.hpp"

namespace redline::text::jinja {

// Throws BadCheckpoint for what is not Jinja and Unsupported for what we do not do, as "NAME, line N:
// construct".
Program parse(std::string_view source, std::string template_name);

}  // namespace redline::text::jinja
