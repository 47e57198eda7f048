// Reads the headers of all weight files, one after another, then looks at all tensors together.
#include "checkpoint/contents.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "checkpoint/name_table.hpp"
#include "checkpoint/names.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/weight_files.hpp"
#include "core/printable.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

// "tensor "a"" or "tensor "a" and 41 more": one line for what often comes in hundreds.
std::string first_and_count(std::string_view first, std::size_t count) {
  return count == 1 ? fmt::format("tensor \"{}\"", printable(first))
                    : fmt::format("tensor \"{}\" and {} more", printable(first), count - 1);
}

struct Tally {
  std::string first;
  std::size_t count = 0;
  void add(std::string_view name) {
    if (count++ == 0) first = name;
  }
};

// Merges what is in order already: writers sort by name within each type, or count layers and experts up, so
// that a hundred thousand names come in a few hundred runs.
template <class Item, class Before>
void sort_runs(std::vector<Item>& items, const Before& comes_before) {
  std::vector<std::size_t> ends;  // of each run
  for (std::size_t i = 1; i <= items.size(); ++i) {
    if (i == items.size() || comes_before(items[i], items[i - 1])) ends.push_back(i);
  }
  std::vector<Item> merged(items.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> longer;
    std::size_t begin = 0;
    const auto at = [&](std::size_t place) { return items.begin() + static_cast<std::ptrdiff_t>(place); };
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t middle = ends[run], end = ends[std::min(run + 1, ends.size() - 1)];
      std::merge(at(begin), at(middle), at(middle), at(end),
                 merged.begin() + static_cast<std::ptrdiff_t>(begin), comes_before);
      longer.push_back(end);
      begin = end;
    }
    items.swap(merged);
    ends = std::move(longer);
  }
}

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder) : folder_(folder), weights_(find_weight_files(folder)) {}

  Contents run() {
    contents_.name = fs::weakly_canonical(folder_).filename().string();
    contents_.notes = std::move(weights_.notes);
    for (Fault& found : weights_.faults) fault(std::move(found.file), std::move(found.message));
    for (const std::vector<std::string>* names : {&weights_.present, &weights_.missing}) {
      for (const std::string& name : *names) {
        contents_.files.push_back(folder_ / name);
        labels_.push_back(name);
      }
    }
    contents_.maps.resize(labels_.size());
    shards_.resize(labels_.size());
    for (std::size_t file = 0; file < weights_.present.size(); ++file) read_shard(file);
    settle_bytes();
    if (weights_.has_index) hold_against_index();
    sort_by_name();
    settle_duplicates();
    if (ignored_ > 0)
      contents_.notes.push_back(fmt::format("{} rotary_emb.inv_freq {} ignored: config.json defines them",
                                            ignored_, ignored_ == 1 ? "tensor" : "tensors"));
    if (contents_.tensors.empty() && contents_.faults.empty())
      fault(labels_.front(), fmt::format("{}: holds no tensor", labels_.front()));
    return std::move(contents_);
  }

 private:
  struct Shard {
    bool readable = false, all_read = false;
    bool has_tensors = false, bytes_here = false;
  };

  void fault(std::string file, std::string message, ErrorKind kind = ErrorKind::BadCheckpoint) {
    contents_.faults.push_back({std::move(file), std::move(message)});
    contents_.fault_kinds.push_back(kind);
  }

  void read_shard(std::size_t file) {
    const std::string& label = labels_[file];
    std::error_code ignored;
    const fs::file_status status = fs::status(contents_.files[file], ignored);
    if (status.type() == fs::file_type::not_found) {
      return fault(label, fmt::format("{}: is a link to a file that is not there: download it again", label));
    }
    if (fs::status_known(status) && !fs::is_regular_file(status)) {
      return fault(label, fmt::format("{}: is {}, expected a regular file", label,
                                      fs::is_directory(status) ? "a folder" : "a device, pipe or socket"));
    }
    try {
      contents_.maps[file] = FileMap(contents_.files[file]);
    } catch (const Error& error) {
      return fault(label, error.what(), error.kind());
    }
    std::vector<std::string> sentences;
    SafetensorsHeader header = read_header(contents_.maps[file].bytes(), label, sentences);
    for (std::string& sentence : sentences) fault(label, std::move(sentence));
    shards_[file] = {.readable = header.readable,
                     .all_read = header.all_read,
                     .has_tensors = !header.tensors.empty(),
                     .bytes_here = header.bytes_here};
    contents_.tensors.reserve(
        std::max(contents_.tensors.size() + header.tensors.size(), weights_.index.size()));
    for (const HeaderTensor& tensor : header.tensors) {
      add({.dtype = tensor.dtype,
           .shape = tensor.shape,
           .file = static_cast<int>(file),
           .offset = header.header_bytes + tensor.begin,
           .bytes = tensor.end - tensor.begin},
          tensor.name);
    }
    contents_.texts.adopt(std::move(header.names));
  }

  // The name on disk lies where it stays.
  void add(Tensor tensor, std::string_view name_on_disk) {
    if (is_ignored(name_on_disk)) {
      ++ignored_;
      return;
    }
    const InternalName internal = internal_name(name_on_disk);
    tensor.name_on_disk = name_on_disk;
    tensor.name =
        internal.head.empty() ? tensor.name_on_disk : contents_.texts.keep(internal.head, internal.tail);
    contents_.tensors.push_back(tensor);
  }

  void settle_bytes() {
    std::size_t here = 0;
    std::vector<std::string> not_here;
    for (std::size_t file = 0; file < weights_.present.size(); ++file) {
      if (!shards_[file].readable) continue;
      if (shards_[file].bytes_here) {
        here += shards_[file].has_tensors ? 1 : 0;
      } else {
        not_here.push_back(labels_[file]);
      }
    }
    if (weights_.present.empty()) {
      contents_.bytes = Bytes::NamesOnly;
    } else if (!not_here.empty() || !weights_.missing.empty()) {
      contents_.bytes = Bytes::NotHere;
    }
    if (here > 0 && !not_here.empty()) {
      contents_.notes.push_back(
          fmt::format("{} of {} files end after their headers ({} first): the weights are not all here",
                      not_here.size(), not_here.size() + here, not_here.front()));
    }
  }

  auto listed_name() const {
    return [this](std::uint32_t number) { return std::string_view(weights_.index[number].name); };
  }

  void hold_against_index() {
    std::unordered_map<std::string_view, int> numbers;
    for (std::size_t file = 0; file < labels_.size(); ++file)
      numbers.emplace(labels_[file], static_cast<int>(file));
    listed_ = NameTable(weights_.index.size());
    files_listed_.reserve(weights_.index.size());
    for (const IndexEntry& entry : weights_.index) {
      listed_.insert(entry.name, static_cast<std::uint32_t>(files_listed_.size()), listed_name());
      files_listed_.push_back(numbers.at(entry.shard));
    }

    std::vector<int> found_in(weights_.index.size(), -1);
    std::map<int, Tally> unlisted;
    for (const Tensor& tensor : contents_.tensors) {
      const std::uint32_t at = listed_.find(tensor.name_on_disk, listed_name());
      if (at == NameTable::kNone) {
        unlisted[tensor.file].add(tensor.name_on_disk);
      } else if (found_in[at] != files_listed_[at]) {
        found_in[at] = tensor.file;
      }
    }
    for (const auto& [file, tally] : unlisted) {
      contents_.notes.push_back(fmt::format(
          "{}: {} {} not in {}: the index is out of date", labels_[static_cast<std::size_t>(file)],
          first_and_count(tally.first, tally.count), tally.count == 1 ? "is" : "are", kIndexFile));
    }

    std::map<std::pair<int, int>, Tally> lacking;  // by the file that should have it and the one that has
    for (std::size_t i = 0; i < weights_.index.size(); ++i) {
      const IndexEntry& entry = weights_.index[i];
      const int file = files_listed_[i];
      if (found_in[i] == file || is_ignored(entry.name)) continue;
      const Shard& shard = shards_[static_cast<std::size_t>(file)];
      if (!shard.readable) {
        // Missing or broken as a whole, which is said once: the names still count.
        if (found_in[i] < 0) add({.has_shape = false, .file = file}, contents_.texts.keep({}, entry.name));
      } else if (shard.all_read) {
        lacking[{file, found_in[i]}].add(entry.name);
      }
    }
    for (const auto& [files, tally] : lacking) {
      const std::string& label = labels_[static_cast<std::size_t>(files.first)];
      fault(label,
            fmt::format("{}: {} lacking, which {} places here{}", label,
                        first_and_count(tally.first, tally.count) + (tally.count == 1 ? " is" : " are"),
                        kIndexFile,
                        files.second < 0
                            ? ": download the file again"
                            : fmt::format("; {} holds {}", labels_[static_cast<std::size_t>(files.second)],
                                          tally.count == 1 ? "it" : "them")));
    }
  }

  // By name, and among equal names the one first that the index means.
  void sort_by_name() {
    std::vector<Tensor>& tensors = contents_.tensors;
    const auto rank = [&](const Tensor& tensor) {
      const std::uint32_t at = listed_.find(tensor.name_on_disk, listed_name());
      return at != NameTable::kNone && files_listed_[at] == tensor.file ? -1 : tensor.file;
    };
    struct Key {
      std::string_view name;
      std::uint32_t number;
    };
    const auto comes_before = [&](const Key& a, const Key& b) {
      const int names = a.name.compare(b.name);
      if (names != 0) return names < 0;
      const int first = rank(tensors[a.number]), second = rank(tensors[b.number]);
      return first != second ? first < second : a.number < b.number;
    };
    std::vector<Key> keys;
    keys.reserve(tensors.size());
    for (const Tensor& tensor : tensors)
      keys.push_back({tensor.name, static_cast<std::uint32_t>(keys.size())});
    sort_runs(keys, comes_before);
    std::vector<Tensor> sorted;
    sorted.reserve(tensors.size());
    for (const Key& key : keys) sorted.push_back(tensors[key.number]);
    tensors = std::move(sorted);
  }

  void settle_duplicates() {
    std::vector<Tensor>& tensors = contents_.tensors;
    std::map<std::pair<int, int>, Tally> equal;
    std::size_t kept = 0;
    for (const Tensor& tensor : tensors) {
      if (kept == 0 || tensors[kept - 1].name != tensor.name) {
        if (&tensors[kept] != &tensor) tensors[kept] = tensor;
        ++kept;
        continue;
      }
      const Tensor& first = tensors[kept - 1];
      const std::string &label = label_of(tensor), &other = label_of(first);
      if (first.name_on_disk != tensor.name_on_disk) {
        fault(label,
              fmt::format("{}: tensor \"{}\" and tensor \"{}\" of {} are two spellings of one name", label,
                          printable(tensor.name_on_disk), printable(first.name_on_disk), other));
      } else if (const std::string difference = difference_of(first, tensor); !difference.empty()) {
        fault(label, fmt::format("{}: tensor \"{}\" is in {} too, with other {}", label,
                                 printable(tensor.name_on_disk), other, difference));
      } else {
        equal[{tensor.file, first.file}].add(tensor.name_on_disk);
      }
    }
    tensors.resize(kept);
    for (const auto& [files, tally] : equal) {
      contents_.notes.push_back(fmt::format(
          "{}: {} in {} too, {}; that file's {} used", labels_[static_cast<std::size_t>(files.first)],
          first_and_count(tally.first, tally.count) + (tally.count == 1 ? " is" : " are"),
          labels_[static_cast<std::size_t>(files.second)],
          contents_.bytes == Bytes::Here ? "equal" : "as far as their headers tell equal",
          tally.count == 1 ? "is" : "are"));
    }
  }

  // Empty: equal, as far as there are bytes to compare.
  std::string difference_of(const Tensor& a, const Tensor& b) const {
    if (!a.has_shape || !b.has_shape) return {};
    const auto type = [](const Tensor& tensor) {
      return fmt::format("{} {}", name_of(tensor.dtype), to_text(tensor.shape));
    };
    if (a.dtype != b.dtype || a.shape != b.shape)
      return fmt::format("contents: {} there, {} here", type(a), type(b));
    if (contents_.bytes != Bytes::Here) return {};
    const std::span<const std::byte> first = contents_.maps[static_cast<std::size_t>(a.file)].bytes();
    const std::span<const std::byte> second = contents_.maps[static_cast<std::size_t>(b.file)].bytes();
    const auto inside = [](const Tensor& tensor, std::span<const std::byte> file) {
      return tensor.offset <= file.size() && tensor.bytes <= file.size() - tensor.offset;
    };
    if (!inside(a, first) || !inside(b, second)) return {};  // the fault of a file, told already
    const bool same =
        a.bytes == 0 || std::memcmp(first.data() + a.offset, second.data() + b.offset, a.bytes) == 0;
    return same ? std::string() : fmt::format("bytes of the same {}", type(a));
  }

  const std::string& label_of(const Tensor& tensor) const {
    return labels_[static_cast<std::size_t>(tensor.file)];
  }

  const fs::path& folder_;
  WeightFiles weights_;
  Contents contents_;
  std::vector<std::string> labels_;  // file names beside contents_.files
  std::vector<Shard> shards_;
  NameTable listed_{0};            // name on disk -> number of its entry in the index
  std::vector<int> files_listed_;  // beside the index: the file that it places the tensor in
  std::size_t ignored_ = 0;
};

}  // namespace

std::string_view Texts::keep(std::string_view head, std::string_view tail) {
  constexpr std::size_t kBlock = 65536;
  const std::size_t size = head.size() + tail.size();
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < size) {
    blocks_.emplace_back().reserve(std::max(kBlock, size));
  }
  std::string& block = blocks_.back();
  const std::size_t begin = block.size();
  block.append(head).append(tail);  // never past the capacity, so nothing moves
  return std::string_view(block).substr(begin, size);
}

Contents read_folder(const fs::path& folder) { return FolderReader(folder).run(); }

}  // namespace redline::checkpoint
