// Which candidate runs. Filled once at start: what the user forced or banned, later the tune file; else the
// candidates' own order.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ops/candidate.hpp"

namespace redline::ops {

class ChoiceTable {
 public:
  // "matmul", "cpu/avx2/tiles". A forced candidate that refuses a problem is an error there, never a silent
  // fallback.
  void force(std::string_view operation, std::string_view path) { forced_[std::string(operation)] = path; }
  void ban(std::string_view operation, std::string_view path) {
    banned_.insert(std::string(operation) + "=" + std::string(path));
  }

  // Every operator runs its reference: slow and exact, for tests that look for wrong conventions.
  void use_references() { references_ = true; }
  bool references() const { return references_; }

  std::string_view forced(std::string_view operation) const;  // empty: nothing
  bool banned(std::string_view operation, std::string_view path) const;

 private:
  std::map<std::string, std::string, std::less<>> forced_;
  std::set<std::string, std::less<>> banned_;
  bool references_ = false;
};

[[noreturn]] void no_candidate(std::string_view operation, std::string_view wanted, const char* reason);

// The first candidate in order that accepts. Verdicts are cheap (a few comparisons), so nothing is cached.
template <class Args>
const Entry<Args>& choose(const Exec& exec, std::string_view operation, std::span<const Entry<Args>> entries,
                          const Args& args) {
  const std::string_view forced = exec.choices.forced(operation);
  const Entry<Args>* best = nullptr;
  const char* reason = "there is none of that name";
  for (const Entry<Args>& entry : entries) {
    if (!forced.empty() ? entry.path != forced : exec.choices.banned(operation, entry.path)) continue;
    if (best != nullptr && best->candidate.order <= entry.candidate.order) continue;
    if (const Verdict verdict = entry.candidate.supports(exec.device.info(), args)) {
      best = &entry;
    } else {
      reason = verdict.no;
    }
  }
  if (best == nullptr) no_candidate(operation, forced, reason);
  return *best;
}

}  // namespace redline::ops
