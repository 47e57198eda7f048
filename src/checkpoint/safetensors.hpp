// The header of one safetensors file, and the index over several. A file is eight bytes of length, JSON, then
// the tensors' bytes without holes or overlaps. Every number is checked against the file before anything
// relies on it; nothing behind the header is read. What is wrong becomes a sentence in `faults`, and reading
// goes on as far as it can: whoever loads stops at the first sentence, `inspect` shows all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor.hpp"

namespace redline::checkpoint {

struct HeaderTensor {
  std::string_view name;  // lies in SafetensorsHeader::names
  DType dtype = DType::BF16;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // bytes, counted from the first one after the header
};

struct SafetensorsHeader {
  std::uint64_t header_bytes = 0;  // with the eight of the length: where the tensors' bytes start
  std::vector<HeaderTensor> tensors;
  std::unique_ptr<char[]> names;  // of all tensors: one block instead of one for each of many thousands
  std::vector<std::pair<std::string, std::string>> metadata;
  bool readable = false;   // the JSON is an object; else `tensors` is empty
  bool all_read = false;   // no tensor was left out because of what the header says of it
  bool bytes_here = true;  // false: the file ends exactly after its header, although tensors have bytes
};

// The format's own limit for the JSON; it keeps a broken length from asking for all memory.
inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

// `label` is the file's name as messages spell it. A tensor whose description is wrong is left out; tensors
// that overlap, leave a hole or lie outside the file stay in, and the fault says so.
SafetensorsHeader read_header(std::span<const std::byte> file, std::string_view label,
                              std::vector<std::string>& faults);

// model.safetensors.index.json: which shard holds which tensor.
struct IndexEntry {
  std::string name;
  std::string shard;  // a plain file name: no folder in it
};
std::vector<IndexEntry> read_index(std::span<const std::byte> file, std::string_view label,
                                   std::vector<std::string>& faults);

}  // namespace redline::checkpoint
