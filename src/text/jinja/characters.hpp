// Strings as Python sees them: UTF-8 walked by code points, Python's idea of white space, case and printable.
// Every string in here is valid UTF-8; sources and JSON are checked on the way in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::text::jinja {

std::size_t count_characters(std::string_view utf8);
char32_t next_character(std::string_view utf8, std::size_t& at);  // decodes at `at` and moves it on
void append_character(std::string& utf8, char32_t character);
std::vector<std::string_view> split_characters(std::string_view utf8);
std::size_t byte_of_character(std::string_view utf8,
                              std::size_t index);  // where the index-th begins; size() past the end

bool is_space(char32_t character);      // str.isspace
bool is_printable(char32_t character);  // str.isprintable, which decides what repr() escapes
bool is_letter(char32_t character);
bool is_digit(char32_t character);
bool is_cased_upper(char32_t character);
bool is_cased_lower(char32_t character);

enum class Ends : std::uint8_t { Left = 1, Right = 2, Both = 3 };
std::string_view strip(std::string_view utf8, Ends ends, std::optional<std::string_view> characters = {});

std::string to_upper(std::string_view utf8);
std::string to_lower(std::string_view utf8);
std::string to_title(std::string_view utf8);     // str.title
std::string capitalize(std::string_view utf8);   // str.capitalize
std::string escape_html(std::string_view utf8);  // & < > ' " as markupsafe writes them
std::string replace_all(std::string_view utf8, std::string_view from, std::string_view to,
                        std::int64_t limit);
std::vector<std::string_view> split_lines(std::string_view utf8, bool keep_ends);

}  // namespace redline::text::jinja
