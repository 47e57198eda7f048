// One small matching machine per stop text; requests have a handful of them.
#include "text/stop_strings.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace redline::text {

StopStrings::StopStrings(std::vector<std::string> stops) {
  stops_.reserve(stops.size());
  for (std::size_t i = 0; i < stops.size(); ++i) {
    ensure(!stops[i].empty(), ErrorKind::BadInput, "stop[{}] is empty, expected at least one character", i);
    Stop stop{.text = std::move(stops[i]), .border = {}, .matched = 0};
    stop.border.resize(stop.text.size());
    for (std::size_t end = 1, length = 0; end < stop.text.size(); ++end) {
      while (length > 0 && stop.text[end] != stop.text[length]) length = stop.border[length - 1];
      if (stop.text[end] == stop.text[length]) ++length;
      stop.border[end] = static_cast<std::uint32_t>(length);
    }
    stops_.push_back(std::move(stop));
  }
}

bool StopStrings::advance(Stop& stop, char byte) {
  while (stop.matched > 0 && stop.text[stop.matched] != byte) stop.matched = stop.border[stop.matched - 1];
  if (stop.text[stop.matched] == byte) ++stop.matched;
  return stop.matched == stop.text.size();
}

std::string StopStrings::push(std::string_view text) {
  if (stopped_by_) return {};
  std::string shown = std::exchange(held_, {});
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::size_t k = 0; k < stops_.size(); ++k) {
      if (!advance(stops_[k], text[i])) continue;
      if (!stopped_by_ || stops_[k].text.size() > stops_[*stopped_by_].text.size()) stopped_by_ = k;
    }
    if (stopped_by_) {
      shown.append(text.substr(0, i + 1));
      shown.resize(shown.size() - stops_[*stopped_by_].text.size());
      return shown;
    }
  }
  shown.append(text);
  std::size_t keep = 0;
  for (const Stop& stop : stops_) keep = std::max(keep, stop.matched);
  held_ = shown.substr(shown.size() - keep);
  shown.resize(shown.size() - keep);
  return shown;
}

std::string StopStrings::finish() {
  for (Stop& stop : stops_) stop.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace redline::text
