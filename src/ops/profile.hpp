// Where a step's time goes: one row for each operator and candidate. Filled by dispatch() when a call's Exec
// carries one; on a CPU every call has ended when it returns, so the host clock is the operator's time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace redline::ops {

struct ProfileRow {
  std::int64_t calls = 0;
  double seconds = 0;
  std::int64_t bytes = 0;  // that must cross memory, by formula; 0 where the operator has none worth counting
};

struct Profile {
  std::map<std::pair<std::string, std::string>, ProfileRow> rows;  // (operator, candidate)

  void add(std::string_view operation, std::string_view candidate, double seconds, std::int64_t bytes) {
    ProfileRow& row = rows[{std::string(operation), std::string(candidate)}];
    ++row.calls;
    row.seconds += seconds;
    row.bytes += bytes;
  }
};

}  // namespace redline::ops
