// Forced and banned candidates, and what is said when none is left.
#include "ops/choice.hpp"

#include "core/error.hpp"

namespace redline::ops {

std::string_view ChoiceTable::forced(std::string_view operation) const {
  const auto found = forced_.find(operation);
  return found == forced_.end() ? std::string_view() : std::string_view(found->second);
}

bool ChoiceTable::banned(std::string_view operation, std::string_view path) const {
  if (banned_.empty()) return false;
  return banned_.contains(fmt::format("{}={}", operation, path));
}

void no_candidate(std::string_view operation, std::string_view wanted, const char* reason) {
  if (wanted.empty())
    fail(ErrorKind::Unsupported, "{}: no candidate on this device accepts the problem; the last one said: {}",
         operation, reason);
  fail(ErrorKind::Unsupported, "{}: {} was forced and cannot run: {}", operation, wanted, reason);
}

}  // namespace redline::ops
