// XXH64 against the vectors of xxHash's own self-test (its sanity buffer) and against values made with the
// xxHash library, version 0.8.4, through its Python binding.
#include "core/hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace redline {
namespace {

// The self-test's buffer: upper bytes of a squared 32-bit number.
std::vector<std::byte> sanity_buffer(std::size_t size) {
  std::vector<std::byte> bytes;
  std::uint32_t number = 2654435761u;
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<std::byte>(number >> 24));
    number *= number;
  }
  return bytes;
}

TEST(Hash, PublishedVectors) {
  const std::vector<std::byte> buffer = sanity_buffer(101);
  const std::span<const std::byte> bytes(buffer);
  constexpr std::uint64_t kSeed = 2654435761u;
  EXPECT_EQ(hash_bytes({}), 0xEF46DB3751D8E999);
  EXPECT_EQ(hash_bytes({}, kSeed), 0xAC75FDA2929B17EF);
  EXPECT_EQ(hash_bytes(bytes.first(1)), 0x4FCE394CC88952D8);
  EXPECT_EQ(hash_bytes(bytes.first(1), kSeed), 0x739840CB819FA723);
  EXPECT_EQ(hash_bytes(bytes.first(14)), 0xCFFA8DB881BC3A3D);
  EXPECT_EQ(hash_bytes(bytes.first(14), kSeed), 0x5B9611585EFCC9CB);
  EXPECT_EQ(hash_bytes(bytes), 0x0EAB543384F878AD);
  EXPECT_EQ(hash_bytes(bytes, kSeed), 0xCAA65939306F1E21);
  const std::string_view text = "Nobody inspects the spammish repetition";
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(text))), 0xFBCEA83C8A378BF1);
}

TEST(Hash, EveryLengthUpTo400) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < 400; ++i) bytes.push_back(static_cast<std::byte>(i * 167 + 13));
  // Each length is hashed with the hash of the shorter one as its seed, so one wrong length changes the end.
  std::uint64_t hash = 0;
  for (std::size_t length = 0; length <= 400; ++length)
    hash = hash_bytes(std::span(bytes).first(length), hash);
  EXPECT_EQ(hash, 0x01a43f53934d5608u);
}

TEST(Hash, StartNeedNotBeAligned) {
  const std::vector<std::byte> buffer = sanity_buffer(101);
  std::vector<std::byte> shifted(buffer.size() + 8);
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::copy(buffer.begin(), buffer.end(), shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(hash_bytes(std::span(shifted).subspan(shift, 101)), 0x0EAB543384F878AD);
  }
}

TEST(Hash, TokensAreLittleEndianWords) {
  const std::array<std::int32_t, 5> tokens{0, 1, 248044, -1, 151643};
  EXPECT_EQ(hash_tokens(tokens), 0x413f168465cffc17);
  EXPECT_EQ(hash_tokens(tokens, 0x123456789abcdef), 0x59e1ac567a85dbc6);
}

TEST(Hash, ChainedRunsStandForTheirPrefix) {
  const std::array<std::int32_t, 4> tokens{5, 6, 7, 8};
  const std::span<const std::int32_t> all(tokens);
  const std::uint64_t first = hash_tokens(all.first(2));
  EXPECT_NE(hash_tokens(all.last(2), first), hash_tokens(all.last(2)));
  EXPECT_NE(hash_tokens(all.last(2), first), hash_tokens(all.last(2), hash_tokens(all.first(1))));
}

}  // namespace
}  // namespace redline
