// 64-bit hashes of file contents and of token runs: XXH64, written from the public specification of xxHash
// (doc/xxhash_spec.md of that project, algorithm XXH64). Not for secrets: whoever wants collisions can make
// them, so a cache that compares tokens after the hash stays right, and one that does not must be keyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace redline {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// Tokens as little-endian 32-bit words. Runs are chained by passing the hash of what stands before as
// `before`, so that a run's hash stands for the whole prefix that ends with it; chaining differs from hashing
// the prefix in one go.
std::uint64_t hash_tokens(std::span<const std::int32_t> tokens, std::uint64_t before = 0);

}  // namespace redline
