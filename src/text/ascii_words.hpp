// The split pattern of the Qwen families by hand, for words that are decided by ASCII characters alone.
#pragma once

#include <cstddef>
#include <string_view>

namespace redline::text {

// Length of the word at `position`, or 0 when a byte above 127 takes part in the decision; the caller then
// asks the regular expression. Marks are never ASCII, so the patterns with and without \p{M} agree here.
std::size_t ascii_word_length(std::string_view text, std::size_t position);

}  // namespace redline::text
