// Merging against the definition written out: find the lowest rank, leftmost first, join, start again.
#include "text/bpe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace redline::text {
namespace {

using Ids = std::vector<std::int32_t>;

std::array<std::int32_t, 256> bytes_as_ids() {
  std::array<std::int32_t, 256> ids{};
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids by_definition(const std::string& word, const std::vector<Merge>& merges) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::size_t, std::int32_t>> rank_of;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    rank_of[{merges[rank].left, merges[rank].right}] = {rank, merges[rank].result};
  }
  Ids ids;
  for (const char c : word) ids.push_back(static_cast<std::uint8_t>(c));
  while (true) {
    std::size_t best = ids.size(), best_rank = merges.size();
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = rank_of.find({ids[i], ids[i + 1]});
      if (found != rank_of.end() && found->second.first < best_rank) {
        best = i;
        best_rank = found->second.first;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

Ids encode(const Bpe& bpe, const std::string& word) {
  Ids ids;
  bpe.encode(word, ids);
  return ids;
}

// Merges between random tokens over a small alphabet, so that they overlap and compete; a token's result is
// the same whichever pair makes it, as in a real vocabulary.
std::vector<Merge> random_merges(std::mt19937& random, std::size_t count) {
  std::vector<std::string> texts(256);
  for (std::size_t i = 0; i < 256; ++i) texts[i] = std::string(1, static_cast<char>(i));
  std::map<std::string, std::int32_t> id_of;
  std::vector<std::int32_t> usable = {'a', 'b', 'c', 0xC3};
  for (const auto id : usable) id_of[texts[static_cast<std::size_t>(id)]] = id;
  std::vector<Merge> merges;
  while (merges.size() < count) {
    const auto left = usable[random() % usable.size()], right = usable[random() % usable.size()];
    const std::string joined = texts[static_cast<std::size_t>(left)] + texts[static_cast<std::size_t>(right)];
    if (joined.size() > 12) continue;
    const auto [place, fresh] = id_of.try_emplace(joined, static_cast<std::int32_t>(texts.size()));
    if (fresh) {
      texts.push_back(joined);
      usable.push_back(place->second);
    }
    merges.push_back({left, right, place->second});
  }
  std::shuffle(merges.begin(), merges.end(), random);
  return merges;
}

TEST(Bpe, AgreesWithTheDefinitionAtEveryLength) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    std::vector<Merge> merges = random_merges(random, 5 + random() % 60);
    // A pair that is named twice counts where it is named last; the definition above does the same.
    const Bpe bpe(bytes_as_ids(), merges);
    for (std::size_t length = 0; length < 90;
         ++length) {  // short and long words take different ways from 32 on
      std::string word;
      for (std::size_t i = 0; i < length; ++i) word += "abc\xC3"[random() % 4];
      ASSERT_EQ(encode(bpe, word), by_definition(word, merges)) << "round " << round << ", word " << word;
    }
  }
}

TEST(Bpe, EqualRanksJoinFromTheLeft) {
  const Bpe bpe(bytes_as_ids(), std::vector<Merge>{{'a', 'a', 256}});
  EXPECT_EQ(encode(bpe, "aaa"), (Ids{256, 'a'}));
  EXPECT_EQ(encode(bpe, std::string(41, 'a')), by_definition(std::string(41, 'a'), {{'a', 'a', 256}}));
}

TEST(Bpe, WithoutMergesBytesStay) {
  const Bpe bpe(bytes_as_ids(), {});
  EXPECT_EQ(encode(bpe, ""), Ids{});
  EXPECT_EQ(encode(bpe, "\xff\x01"), (Ids{255, 1}));
}

// 2^20 letters and merges that double: one token of each power of two is left. Quadratic work would take an
// hour.
TEST(Bpe, AMegabyteOfOneLetter) {
  std::vector<Merge> merges;
  for (std::int32_t level = 0; level < 20; ++level) {
    const std::int32_t from = level == 0 ? 'a' : 255 + level;
    merges.push_back({from, from, 256 + level});
  }
  const Bpe bpe(bytes_as_ids(), merges);
  EXPECT_EQ(encode(bpe, std::string((1U << 20) + 5, 'a')), (Ids{275, 257, 'a'}));
}

}  // namespace
}  // namespace redline::text
