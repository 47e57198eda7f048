// Cuts an answer at a stop text, though the text arrives in pieces and a stop text may span several of them.
//
// Which one wins: the stop text whose last byte comes first, since that is where an answer that is checked
// after every character ends; of several that end on the same byte, the longest, so that no part of it is
// shown. The outcome therefore does not depend on how the answer is cut into pieces. No more is held back
// than the longest end of the text that could still become a stop text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::text {

class StopStrings {  // one per answer
 public:
  explicit StopStrings(std::vector<std::string> stops);  // BadInput for an empty one

  std::string push(std::string_view text);  // what may be shown now; after a stop: nothing more
  std::string finish();                     // the answer ended without a stop: what was held back

  std::optional<std::size_t> stopped_by() const { return stopped_by_; }  // index into the list given

 private:
  // A Knuth-Morris-Pratt machine: `matched` is the longest prefix of `text` that the answer so far ends with.
  struct Stop {
    std::string text;
    std::vector<std::uint32_t>
        border;  // [text.size()] longest proper prefix of text[0..i] that is also its end
    std::size_t matched = 0;
  };
  static bool advance(Stop& stop, char byte);  // true when the text is complete

  std::vector<Stop> stops_;
  std::string held_;
  std::optional<std::size_t> stopped_by_;
};

}  // namespace redline::text
