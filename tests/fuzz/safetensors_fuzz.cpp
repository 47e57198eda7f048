// The first byte says what the rest is: 'h' a whole file, 'j' the JSON of a header, given its right length
// and as many bytes behind it as the last tensor needs, 'i' an index. Whatever is accepted must be what the
// format promises; names and texts for messages are made from all of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/names.hpp"
#include "checkpoint/safetensors.hpp"
#include "core/printable.hpp"

namespace {

using namespace redline;
using namespace redline::checkpoint;

void must(bool holds) {
  if (!holds) std::abort();
}

void look_at(std::span<const std::byte> file) {
  std::vector<std::string> faults;
  SafetensorsHeader header = read_header(file, "file", faults);
  must(header.readable || (header.tensors.empty() && !faults.empty()));
  must(header.header_bytes <= file.size());
  for (const HeaderTensor& tensor : header.tensors) {
    must(!tensor.name.empty());
    must(tensor.begin <= tensor.end);
    must(tensor.shape.dims >= 0 && tensor.shape.dims <= Shape::kMaxDims);
    must(tensor.shape.elements() >= 0);
    must(static_cast<std::uint64_t>(tensor.shape.elements()) *
             static_cast<std::uint64_t>(bits_of(tensor.dtype)) ==
         8 * (tensor.end - tensor.begin));
    const InternalName name = internal_name(tensor.name);
    must(name.head.size() + name.tail.size() > 0);
  }
  if (!faults.empty()) return;
  // Without faults the tensors cover the file from its header to its end, each byte once.
  std::sort(header.tensors.begin(), header.tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t reached = 0;
  for (const HeaderTensor& tensor : header.tensors) {
    must(tensor.begin == reached);
    reached = tensor.end;
  }
  must(file.size() == header.header_bytes + (header.bytes_here ? reached : 0));
}

// The number before the last ']', which in most headers ends the last tensor.
std::size_t bytes_behind(std::string_view json) {
  std::size_t end = json.rfind(']');
  if (end == std::string_view::npos) return 0;
  std::size_t bytes = 0, place = 1;
  while (end > 0 && json[end - 1] >= '0' && json[end - 1] <= '9' && place <= 1000) {
    bytes += place * static_cast<std::size_t>(json[--end] - '0');
    place *= 10;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  if (data[0] == 'i') {
    std::vector<std::string> faults;
    for (const IndexEntry& entry : read_index(rest, "index", faults)) {
      must(!entry.name.empty() && !entry.shard.empty());
      must(entry.shard.find('/') == std::string::npos && entry.shard != "..");
    }
  } else if (data[0] == 'j') {
    std::string file;
    for (int i = 0; i < 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
    file += text;
    file.resize(file.size() + bytes_behind(text));
    look_at(std::as_bytes(std::span(file)));
  } else {
    look_at(rest);
  }
  must(printable(text).size() <= 4 * 200 + 3);
  return 0;
}
