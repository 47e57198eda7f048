// simdjson's document model over the JSON. The order of checks follows the file: length, JSON, each tensor,
// then how they lie beside each other. simdjson's own sentences stay out of messages: they differ between
// its versions.
#include "checkpoint/safetensors.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "checkpoint/name_table.hpp"
#include "core/error.hpp"
#include "core/printable.hpp"

namespace redline::checkpoint {
namespace {

namespace dom = simdjson::dom;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// nullopt: what is wrong is in `faults`. The object lives in the parser.
std::optional<dom::object> parse_object(dom::parser& parser, std::string_view json, std::string_view what,
                                        std::vector<std::string>& faults) {
  const simdjson::padded_string padded(json);
  dom::element root;
  dom::object object;
  const simdjson::error_code error = parser.parse(padded).get(root);
  ensure(error != simdjson::MEMALLOC, ErrorKind::OutOfMemory, "{}: no memory to parse its {} bytes of JSON",
         what, json.size());
  if (error == simdjson::UTF8_ERROR) {
    faults.push_back(fmt::format("{} is not UTF-8: the file is damaged, download it again", what));
  } else if (error != simdjson::SUCCESS) {
    faults.push_back(fmt::format("{} is not JSON: the file is damaged, download it again", what));
  } else if (root.get_object().get(object) != simdjson::SUCCESS) {
    faults.push_back(fmt::format("{} is JSON, but not an object", what));
  } else {
    return object;
  }
  return std::nullopt;
}

const char* fault_of_name(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.find('\0') != std::string_view::npos) return "the name holds a zero byte";
  return nullptr;
}

// Which keys of an object have been there; they lie in the parser, which outlives this.
class Names {
 public:
  explicit Names(std::size_t expected) : table_(expected) { names_.reserve(expected); }

  // false: it is there already.
  bool add(std::string_view name) {
    const auto number = static_cast<std::uint32_t>(names_.size());
    const auto name_of = [this](std::uint32_t other) { return names_[other]; };
    if (table_.insert(name, number, name_of) != number) return false;
    names_.push_back(name);
    return true;
  }

 private:
  NameTable table_;
  std::vector<std::string_view> names_;
};

using Sentence = std::optional<std::string>;  // what is wrong, if anything

Sentence read_dtype(const dom::element& value, HeaderTensor& out) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return "dtype is not a text";
  const std::optional<DType> known = dtype_from_name(text);
  // Four-bit codes have no elements of their own on disk: two lie in one U8.
  if (!known || *known == DType::F4E2M1) {
    return fmt::format("dtype {} is not one of F32, BF16, F16, F8_E4M3, I32, I64, U8", printable(text));
  }
  out.dtype = *known;
  return std::nullopt;
}

Sentence read_shape(const dom::element& value, HeaderTensor& out) {
  dom::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return "shape is not a list";
  std::uint64_t elements = 1;
  for (const dom::element item : list) {
    std::uint64_t size = 0;
    if (item.get_uint64().get(size) != simdjson::SUCCESS) {
      return fmt::format("shape[{}] is not a whole number from 0 on", out.shape.dims);
    }
    if (out.shape.dims == Shape::kMaxDims)
      return fmt::format("shape has more than {} sizes", Shape::kMaxDims);
    // Every product is kept below 2^59, so that bits, bytes and signed sizes all fit 64 bits.
    constexpr std::uint64_t kMostElements = std::uint64_t{1} << 59;
    if (size > kMostElements || (size != 0 && elements > kMostElements / size)) {
      return "shape has more elements than any file can hold";
    }
    elements *= size;
    out.shape.sizes[static_cast<std::size_t>(out.shape.dims++)] = static_cast<std::int64_t>(size);
  }
  return std::nullopt;
}

Sentence read_offsets(const dom::element& value, HeaderTensor& out) {
  dom::array list;
  std::array<std::uint64_t, 2> range{};
  std::size_t count = 0;
  bool well_formed = value.get_array().get(list) == simdjson::SUCCESS;
  if (well_formed) {
    for (const dom::element item : list) {
      well_formed = count < 2 && item.get_uint64().get(range[count]) == simdjson::SUCCESS;
      if (!well_formed) break;
      ++count;
    }
  }
  if (!well_formed || count != 2) return "data_offsets is not a list of two whole numbers from 0 on";
  out.begin = range[0];
  out.end = range[1];
  if (out.begin > out.end)
    return fmt::format("data_offsets [{}, {}] end before they begin", out.begin, out.end);
  return std::nullopt;
}

Sentence read_tensor(const dom::element& value, HeaderTensor& out) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    return "expected an object with dtype, shape and data_offsets";
  }
  struct Field {
    std::string_view name;
    Sentence (*read)(const dom::element&, HeaderTensor&);
    bool seen;
  };
  std::array<Field, 3> fields = {
      {{"dtype", read_dtype, false}, {"shape", read_shape, false}, {"data_offsets", read_offsets, false}}};
  for (const dom::key_value_pair pair : object) {
    for (Field& field : fields) {
      if (field.name != pair.key) continue;
      if (field.seen) return fmt::format("{} is there twice", field.name);
      field.seen = true;
      if (Sentence wrong = field.read(pair.value, out)) return wrong;
    }
  }
  for (const Field& field : fields) {
    if (!field.seen) return fmt::format("{} is missing", field.name);
  }
  const auto bits = static_cast<std::uint64_t>(out.shape.elements() * bits_of(out.dtype));
  if (out.end - out.begin != bits / 8) {
    return fmt::format("{} {} takes {} bytes, data_offsets [{}, {}] span {}", name_of(out.dtype),
                       to_text(out.shape), bits / 8, out.begin, out.end, out.end - out.begin);
  }
  return std::nullopt;
}

void read_metadata(const dom::element& value, std::string_view label, SafetensorsHeader& header,
                   std::vector<std::string>& faults) {
  dom::object pairs;
  if (value.get_object().get(pairs) != simdjson::SUCCESS) {
    faults.push_back(fmt::format("{}: __metadata__ is not an object of texts", label));
    return;
  }
  for (const dom::key_value_pair pair : pairs) {
    std::string_view text;
    if (pair.value.get_string().get(text) != simdjson::SUCCESS) {
      faults.push_back(fmt::format("{}: __metadata__ \"{}\" is not a text", label, printable(pair.key)));
      continue;
    }
    header.metadata.emplace_back(pair.key, text);
  }
}

// Out of the parser, into the header.
void keep_names(SafetensorsHeader& header) {
  std::size_t size = 0;
  for (const HeaderTensor& tensor : header.tensors) size += tensor.name.size();
  header.names = std::make_unique_for_overwrite<char[]>(size);
  char* place = header.names.get();
  for (HeaderTensor& tensor : header.tensors) {
    std::memcpy(place, tensor.name.data(), tensor.name.size());
    tensor.name = {place, tensor.name.size()};
    place += tensor.name.size();
  }
}

// How the tensors lie beside each other, and whether the file ends where they do.
void check_ranges(const SafetensorsHeader& header, std::uint64_t file_bytes, std::string_view label,
                  std::vector<std::string>& faults) {
  std::vector<const HeaderTensor*> order;
  order.reserve(header.tensors.size());
  for (const HeaderTensor& tensor : header.tensors) order.push_back(&tensor);
  const auto lies_before = [](const HeaderTensor* a, const HeaderTensor* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  };
  if (!std::is_sorted(order.begin(), order.end(), lies_before))
    std::sort(order.begin(), order.end(), lies_before);
  std::uint64_t reached = 0;
  const HeaderTensor* last = nullptr;
  for (const HeaderTensor* tensor : order) {
    if (tensor->begin < reached) {
      faults.push_back(fmt::format("{}: tensor \"{}\" at [{}, {}] overlaps tensor \"{}\" at [{}, {}]", label,
                                   printable(tensor->name), tensor->begin, tensor->end, printable(last->name),
                                   last->begin, last->end));
    } else if (tensor->begin > reached) {
      faults.push_back(
          fmt::format("{}: tensor \"{}\" begins at {}, expected {}: the bytes between belong to no tensor",
                      label, printable(tensor->name), tensor->begin, reached));
    }
    if (last == nullptr || tensor->end >= reached) {
      reached = tensor->end;
      last = tensor;
    }
  }
  const std::uint64_t here = file_bytes - header.header_bytes;
  if (!header.bytes_here || here == reached) return;
  if (here < reached) {
    // Added in two steps by the reader of the message: a declared end near 2^64 must not wrap.
    faults.push_back(fmt::format(
        "{}: tensor \"{}\" ends at byte {} after a header of {}, the file has {} bytes: it is cut "
        "short or the header is damaged, download it again",
        label, printable(last->name), reached, header.header_bytes, file_bytes));
  } else {
    faults.push_back(
        fmt::format("{}: the tensors end at byte {}, the file has {}: {} bytes too many, download it again",
                    label, header.header_bytes + reached, file_bytes, here - reached));
  }
}

}  // namespace

SafetensorsHeader read_header(std::span<const std::byte> file, std::string_view label,
                              std::vector<std::string>& faults) {
  SafetensorsHeader header;
  if (as_text(file).starts_with(kLfsPointer)) {
    faults.push_back(fmt::format(
        "{}: is a Git LFS pointer, not the file it stands for: fetch it with `git lfs pull`", label));
    return header;
  }
  if (file.size() < kLengthBytes) {
    faults.push_back(fmt::format(
        "{}: the file has {} bytes, a safetensors file starts with 8 of header length: download it again",
        label, file.size()));
    return header;
  }
  const std::uint64_t json_bytes = little_endian(file);
  if (json_bytes > kMostHeaderBytes) {
    faults.push_back(fmt::format(
        "{}: declares a header of {} bytes, the format allows {}: it is damaged or no safetensors file",
        label, json_bytes, kMostHeaderBytes));
    return header;
  }
  if (json_bytes > file.size() - kLengthBytes) {
    faults.push_back(fmt::format(
        "{}: declares a header of {} bytes, the file has {} after its first 8: it is cut short, download "
        "it again",
        label, json_bytes, file.size() - kLengthBytes));
    return header;
  }
  header.header_bytes = kLengthBytes + json_bytes;

  dom::parser parser;
  const std::optional<dom::object> object = parse_object(
      parser, as_text(file.subspan(kLengthBytes, json_bytes)), fmt::format("{}: the header", label), faults);
  if (!object) return header;
  header.readable = true;
  header.all_read = true;
  header.tensors.reserve(object->size());
  Names seen(object->size());
  bool has_bytes = false;
  for (const dom::key_value_pair field : *object) {
    if (!seen.add(field.key)) {
      faults.push_back(fmt::format("{}: the header names \"{}\" twice", label, printable(field.key)));
      header.all_read = false;
      continue;
    }
    if (field.key == "__metadata__") {
      read_metadata(field.value, label, header, faults);
      continue;
    }
    HeaderTensor tensor{.name = field.key};
    Sentence wrong;
    if (const char* fault = fault_of_name(field.key)) wrong = fault;
    if (!wrong) wrong = read_tensor(field.value, tensor);
    if (wrong) {
      faults.push_back(fmt::format("{}: tensor \"{}\": {}", label, printable(field.key), *wrong));
      header.all_read = false;
      continue;
    }
    has_bytes = has_bytes || tensor.end > tensor.begin;
    header.tensors.push_back(tensor);
  }
  keep_names(header);
  header.bytes_here = file.size() > header.header_bytes || !has_bytes;
  // With tensors left out there would be holes that are not in the file.
  if (header.all_read) check_ranges(header, file.size(), label, faults);
  return header;
}

std::vector<IndexEntry> read_index(std::span<const std::byte> file, std::string_view label,
                                   std::vector<std::string>& faults) {
  std::vector<IndexEntry> entries;
  dom::parser parser;
  const std::optional<dom::object> root =
      parse_object(parser, as_text(file), fmt::format("{}: the index", label), faults);
  if (!root) return entries;
  std::optional<dom::element> found;
  for (const dom::key_value_pair field : *root) {
    if (field.key != "weight_map") continue;
    if (found) {
      faults.push_back(fmt::format("{}: weight_map is there twice", label));
      return entries;
    }
    found = field.value;
  }
  dom::object map;
  if (!found || found->get_object().get(map) != simdjson::SUCCESS) {
    faults.push_back(fmt::format("{}: weight_map is {}, expected an object from tensor names to file names",
                                 label, found ? "no object" : "missing"));
    return entries;
  }
  entries.reserve(map.size());
  Names seen(map.size());
  for (const dom::key_value_pair field : map) {
    std::string_view shard;
    // A name with a folder in it could reach outside the checkpoint.
    const auto is_plain = [&] {
      return !shard.empty() && shard != "." && shard != ".." &&
             shard.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
    };
    if (const char* fault = fault_of_name(field.key)) {
      faults.push_back(fmt::format("{}: tensor \"{}\": {}", label, printable(field.key), fault));
    } else if (!seen.add(field.key)) {
      faults.push_back(fmt::format("{}: weight_map names \"{}\" twice", label, printable(field.key)));
    } else if (field.value.get_string().get(shard) != simdjson::SUCCESS) {
      faults.push_back(fmt::format("{}: tensor \"{}\": expected a file name", label, printable(field.key)));
    } else if (!is_plain()) {
      faults.push_back(fmt::format("{}: tensor \"{}\": \"{}\" is not the name of a file beside the index",
                                   label, printable(field.key), printable(shard)));
    } else {
      entries.push_back({std::string(field.key), std::string(shard)});
    }
  }
  return entries;
}

}  // namespace redline::checkpoint
