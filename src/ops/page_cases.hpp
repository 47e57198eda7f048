// Batches for the cases of operators that use paged keys and values.
#pragma once

#include <string>
#include <vector>

#include "ops/conformance.hpp"

namespace redline::ops {

struct PagedSequence {
  int rows = 0, length = 0;  // new rows; tokens in the cache with them
};

struct Paging {
  TensorView row_begin, kv_lengths, pages, page_begin;
  std::int64_t page_count = 0;  // of the pool: two more than are in use
};

inline std::int64_t row_count(const std::vector<PagedSequence>& sequences) {
  std::int64_t rows = 0;
  for (const PagedSequence& one : sequences) rows += one.rows;
  return rows;
}

// Pages come from the back of the pool, every other one first: never in rising order, never neighbours.
inline Paging make_paging(CaseBuilder& build, const std::vector<PagedSequence>& sequences,
                          std::int64_t page_tokens) {
  std::vector<std::int32_t> row_begin{0}, lengths, page_begin{0};
  for (const PagedSequence& one : sequences) {
    row_begin.push_back(row_begin.back() + one.rows);
    lengths.push_back(one.length);
    page_begin.push_back(page_begin.back() +
                         static_cast<std::int32_t>((one.length + page_tokens - 1) / page_tokens));
  }
  const std::int32_t used = page_begin.back(), count = used + 2;
  std::vector<std::int32_t> order, pages;
  for (std::int32_t page = count - 1; page >= 0; page -= 2) order.push_back(page);
  for (std::int32_t page = count - 2; page >= 0; page -= 2) order.push_back(page);
  for (std::int32_t i = 0; i < used; ++i) pages.push_back(order[static_cast<std::size_t>(i)]);
  return {.row_begin = build.integers(row_begin),
          .kv_lengths = build.integers(lengths),
          .pages = build.integers(pages),
          .page_begin = build.integers(page_begin),
          .page_count = count};
}

inline std::string to_text(const std::vector<PagedSequence>& sequences) {
  std::string text;
  for (const PagedSequence& one : sequences)
    text += (text.empty() ? "" : " ") + std::to_string(one.rows) + "@" + std::to_string(one.length);
  return text;
}

}  // namespace redline::ops
