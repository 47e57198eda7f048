// Lists the folder once; everything else is decided from that list and the index.
#include "checkpoint/weight_files.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "checkpoint/inventory.hpp"
#include "core/error.hpp"
#include "core/file_map.hpp"
#include "core/printable.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kSuffix = ".safetensors";

std::vector<std::string> ending_with(std::span<const std::string> names,
                                     std::initializer_list<std::string_view> ends) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool fits =
        std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
    if (fits) found.push_back(name);
  }
  return found;
}

// What a folder holds when it does not hold what was expected.
std::string instead(std::span<const std::string> names) {
  if (names.empty()) return "the folder is empty";
  if (const auto gguf = ending_with(names, {".gguf"}); !gguf.empty()) {
    return fmt::format("found {}: GGUF is not read, only safetensors", first_few(gguf));
  }
  if (const auto pickled = ending_with(names, {".bin", ".pt", ".pth"}); !pickled.empty()) {
    return fmt::format("found {}: pickled weights are not read, only safetensors", first_few(pickled));
  }
  if (std::find(names.begin(), names.end(), "snapshots") != names.end()) {
    return "found snapshots: give the folder below it that holds config.json";
  }
  return fmt::format("found {}", first_few(names));
}

std::vector<std::string> list(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  ensure(!error, ErrorKind::Io, "{}: cannot be listed: {}", folder.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  ensure(status.type() != fs::file_type::not_found, ErrorKind::BadInput,
         "{}: no such folder; expected one with config.json and safetensors files", folder.string());
  ensure(fs::status_known(status), ErrorKind::Io, "{}: {}", folder.string(), error.message());
  if (fs::is_directory(status)) return;
  fail(ErrorKind::BadInput, "{}: is {}, expected the folder that holds config.json and safetensors files",
       folder.string(), folder.extension() == ".gguf" ? "a GGUF file, which is not read" : "not a folder");
}

// "PREFIX-00002-of-00004.safetensors"
struct ShardName {
  std::string_view prefix;
  std::string_view total_text;
  std::uint32_t number = 0, total = 0;
};

std::optional<std::uint32_t> number_in(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<ShardName> shard_name(std::string_view file) {
  if (!file.ends_with(kSuffix)) return std::nullopt;
  file.remove_suffix(kSuffix.size());
  const std::size_t of = file.rfind("-of-");
  if (of == std::string_view::npos || of == 0) return std::nullopt;
  const std::size_t dash = file.rfind('-', of - 1);
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = number_in(file.substr(dash + 1, of - dash - 1));
  const auto total = number_in(file.substr(of + 4));
  if (!number || !total || *number == 0 || *number > *total) return std::nullopt;
  return ShardName{
      .prefix = file.substr(0, dash), .total_text = file.substr(of + 4), .number = *number, .total = *total};
}

void read_index_file(const fs::path& folder, WeightFiles& files) {
  std::vector<std::string> sentences;
  try {
    const FileMap map(folder / kIndexFile);
    files.index = read_index(map.bytes(), kIndexFile, sentences);
    if (files.index.empty() && sentences.empty())
      sentences.push_back(fmt::format("{}: weight_map is empty", kIndexFile));
  } catch (const Error& error) {
    sentences.emplace_back(error.what());
  }
  for (std::string& sentence : sentences) files.faults.push_back({kIndexFile, std::move(sentence)});
}

// The index is the truth: what it does not name is not read.
void take_from_index(const std::set<std::string_view>& there, WeightFiles& files) {
  files.has_index = true;
  struct Named {
    std::string_view first;
    std::size_t count = 0;
  };
  std::map<std::string_view, Named> shards;
  for (const IndexEntry& entry : files.index) {
    Named& named = shards[entry.shard];
    if (named.count++ == 0) named.first = entry.name;
  }
  for (const auto& [shard, named] : shards) {
    (there.contains(shard) ? files.present : files.missing).emplace_back(shard);
  }
  if (files.present.empty()) return;  // names only, which is no fault
  for (const std::string& shard : files.missing) {
    const Named& named = shards.find(shard)->second;
    files.faults.push_back(
        {shard, fmt::format("{}: is missing; {} says that it holds {}", printable(shard), kIndexFile,
                            named.count == 1 ? fmt::format("tensor \"{}\"", printable(named.first))
                                             : fmt::format("{} tensors, \"{}\" among them", named.count,
                                                           printable(named.first)))});
  }
}

// Shards without an index say by their own names how many they are.
void take_from_names(std::span<const std::string> names, WeightFiles& files) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string>> sets;
  for (const std::string& name : names) {
    if (const auto shard = shard_name(name)) sets[{shard->prefix, shard->total_text}].push_back(name);
  }
  if (sets.empty()) return;
  // Several sets: the best filled one is taken, so that `inspect` has something to show.
  const auto best = std::max_element(sets.begin(), sets.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  for (const auto& [key, members] : sets) {
    if (key == best->first) continue;
    files.faults.push_back(
        {members.front(),
         fmt::format("{}: belongs to another set of shards than {}, and no {} says which is meant",
                     printable(members.front()), printable(best->second.front()), kIndexFile)});
  }
  files.present = best->second;
  const std::uint32_t total = shard_name(files.present.front())->total;
  constexpr std::uint32_t kMostShards = 100'000;  // five digits; keeps a made-up total from filling the list
  std::uint32_t next = 1;
  const auto miss_until = [&](std::uint32_t end) {
    for (; next < end && next <= kMostShards; ++next) {
      files.missing.push_back(fmt::format("{}-{:0{}}-of-{}{}", best->first.first, next,
                                          best->first.second.size(), best->first.second, kSuffix));
    }
  };
  for (const std::string& shard : files.present) {
    miss_until(shard_name(shard)->number);
    next = shard_name(shard)->number + 1;
  }
  miss_until(total + 1);
  if (files.missing.empty()) return;
  files.faults.push_back(
      {files.missing.front(),
       fmt::format("{}: is missing, with {} in all of the {} shards that the names declare: download again",
                   printable(files.missing.front()), files.missing.size(), total)});
}

}  // namespace

WeightFiles find_weight_files(const fs::path& folder) {
  check_folder(folder);
  const std::vector<std::string> names = list(folder);
  const std::set<std::string_view> there(names.begin(), names.end());
  ensure(there.contains("config.json"), ErrorKind::BadInput, "{}: config.json is missing; {}",
         folder.string(), instead(names));

  WeightFiles files;
  const bool index_is_there = there.contains(kIndexFile);
  if (index_is_there) read_index_file(folder, files);
  const bool single = there.contains(kSingleFile);
  const bool index_names_single =
      std::any_of(files.index.begin(), files.index.end(),
                  [](const IndexEntry& entry) { return entry.shard == kSingleFile; });
  if (single && !index_names_single) {
    // As the Python libraries do it: the single file first.
    files.present.emplace_back(kSingleFile);
    if (!files.index.empty())
      files.notes.push_back(
          fmt::format("{} does not name {}: the index is not used", kIndexFile, kSingleFile));
    files.index.clear();
  } else if (!files.index.empty()) {
    take_from_index(there, files);
  } else {
    take_from_names(names, files);
  }
  const std::vector<std::string> all = ending_with(names, {kSuffix});
  ensure(!files.present.empty() || !files.missing.empty() || index_is_there, ErrorKind::BadInput,
         "{}: no {}, no shards of it and no {}; {}", folder.string(), kSingleFile, kIndexFile,
         instead(names));
  for (const std::string& name : all) {
    if (std::find(files.present.begin(), files.present.end(), name) == files.present.end()) {
      files.notes.push_back(fmt::format("{}: is not part of the checkpoint and not read", printable(name)));
    }
  }
  return files;
}

}  // namespace redline::checkpoint
