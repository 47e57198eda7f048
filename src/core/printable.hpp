// Texts from files and users as messages and reports may show them: a terminal must not obey what a file
// says.
#pragma once

#include <string>
#include <string_view>

namespace redline {

// Control characters other than line ends as \xNN.
std::string without_controls(std::string_view text);

// A name: control characters and line ends as \xNN, cut to 200 bytes at a character's border.
std::string printable(std::string_view name);

}  // namespace redline
