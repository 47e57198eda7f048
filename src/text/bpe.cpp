// Two ways to the same answer: words of everyday length scan a few registers' worth of ranks for the minimum;
// a long run without a break (base64, one letter a million times) uses a heap over a linked list, n log n.
#include "text/bpe.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>

#include "core/error.hpp"
#include "text/token_index.hpp"

namespace redline::text {
namespace {

constexpr std::size_t kShortWord = 32;  // from here on the scan for the minimum costs more than the heap

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

std::size_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

}  // namespace

Bpe::Bpe(const std::array<std::int32_t, 256>& byte_ids, std::span<const Merge> merges)
    : byte_ids_(byte_ids), slots_(std::bit_ceil(merges.size() * 2 + 2), Slot{kNoPair, {}}) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t pair = pair_of(merges[rank].left, merges[rank].right);
    std::size_t i = mix_bits(pair) & mask;
    while (slots_[i].pair != kNoPair && slots_[i].pair != pair) i = (i + 1) & mask;
    slots_[i] = {
        pair,
        {static_cast<std::uint32_t>(rank), merges[rank].result}};  // a pair named twice: the last counts
  }
  first_join_.resize(std::size_t{128} * 128);
  for (std::size_t left = 0; left < 128; ++left) {
    for (std::size_t right = 0; right < 128; ++right) {
      first_join_[left * 128 + right] = find(byte_ids_[left], byte_ids_[right]);
    }
  }
}

Bpe::Join Bpe::find(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = mix_bits(pair) & mask;; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return slots_[i].join;
    if (slots_[i].pair == kNoPair) return {};
  }
}

void Bpe::encode(std::string_view word, std::vector<std::int32_t>& out) const {
  if (word.size() <= kShortWord) {
    encode_short(word, out);
  } else {
    encode_long(word, out);
  }
}

void Bpe::encode_short(std::string_view word, std::vector<std::int32_t>& out) const {
  if (word.empty()) return;
  std::array<std::int32_t, kShortWord> ids;
  std::array<Join, kShortWord> joins;  // joins[i]: of ids[i] and ids[i + 1]
  std::size_t count = word.size();
  for (std::size_t i = 0; i < count; ++i) ids[i] = byte_ids_[byte_of(word[i])];
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::size_t left = byte_of(word[i]), right = byte_of(word[i + 1]);
    joins[i] = (left | right) < 128 ? first_join_[left * 128 + right] : find(ids[i], ids[i + 1]);
  }
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (joins[i].rank < joins[best].rank) best = i;
    }
    if (joins[best].rank == kNoRank) break;
    ids[best] = joins[best].result;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      joins[i - 1] = joins[i];
    }
    if (best > 0) joins[best - 1] = find(ids[best - 1], ids[best]);
    if (best + 1 < count) joins[best] = find(ids[best], ids[best + 1]);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
}

void Bpe::encode_long(std::string_view word, std::vector<std::int32_t>& out) const {
  ensure(word.size() < 0x7FFFFFFF, ErrorKind::BadInput, "a word has {} bytes, expected less than 2 GiB",
         word.size());
  struct Symbol {
    std::int32_t id;
    std::int32_t previous, next;  // -1 at the ends
    bool gone = false;
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t position;
    std::int32_t left, right;  // what stood there when it was found; stale when something else does
    std::int32_t result;
    bool operator<(
        const Candidate& other) const {  // for a heap whose top is the lowest rank, then the leftmost
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  const auto count = static_cast<std::int32_t>(word.size());
  std::vector<Symbol> symbols(word.size());
  for (std::int32_t i = 0; i < count; ++i) {
    symbols[static_cast<std::size_t>(i)] = {byte_ids_[byte_of(word[static_cast<std::size_t>(i)])], i - 1,
                                            i + 1 < count ? i + 1 : -1};
  }
  const auto at = [&](std::int32_t position) -> Symbol& {
    return symbols[static_cast<std::size_t>(position)];
  };
  std::vector<Candidate> storage;
  storage.reserve(word.size());
  for (std::int32_t i = 0; i + 1 < count; ++i) {
    const Join join = find(at(i).id, at(i + 1).id);
    if (join.rank != kNoRank) storage.push_back({join.rank, i, at(i).id, at(i + 1).id, join.result});
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(storage));
  const auto offer = [&](std::int32_t position) {
    if (position < 0 || at(position).next < 0) return;
    const std::int32_t left = at(position).id, right = at(at(position).next).id;
    const Join join = find(left, right);
    if (join.rank != kNoRank) queue.push({join.rank, position, left, right, join.result});
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& symbol = at(top.position);
    if (symbol.gone || symbol.id != top.left || symbol.next < 0 || at(symbol.next).id != top.right) continue;
    symbol.id = top.result;
    Symbol& taken = at(symbol.next);
    taken.gone = true;
    symbol.next = taken.next;
    if (symbol.next >= 0) at(symbol.next).previous = top.position;
    offer(symbol.previous);
    offer(top.position);
  }
  for (std::int32_t i = 0; i >= 0; i = at(i).next) out.push_back(at(i).id);
}

}  // namespace redline::text
