// Lines of words. Sums are hexadecimal floats, which come back as they went.
#include "checkpoint/rewrite_journal.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "checkpoint/output_file.hpp"
#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndOfHead = "shards";

double number_of(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

// "error LABEL FORMAT WEIGHTS DIFFERENCE ORIGINAL DECODED PRODUCT"
bool read_error(const std::string& line, RewriteError& error) {
  std::istringstream words(line);
  std::string kind, difference, original, decoded, product;
  int format = -1;
  words >> kind >> error.label >> format >> error.sums.weights >> difference >> original >> decoded >>
      product;
  if (!words || kind != "error" || format < 0 || format > static_cast<int>(quant::Format::Nvfp4))
    return false;
  error.format = static_cast<quant::Format>(format);
  error.sums.difference = number_of(difference);
  error.sums.original = number_of(original);
  error.sums.decoded = number_of(decoded);
  error.sums.product = number_of(product);
  return true;
}

}  // namespace

RewriteJournal::RewriteJournal(fs::path folder, std::vector<std::string> head)
    : folder_(std::move(folder)), head_(std::move(head)) {
  head_.emplace_back(kEndOfHead);
  const fs::path path = folder_ / kJournalFile;
  std::ifstream file(path);
  if (!file) {
    ensure(!fs::exists(path), ErrorKind::Io, "{}: cannot be read", path.string());
    return;
  }
  found_ = true;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  for (std::size_t i = 0; i < head_.size(); ++i) {
    const std::string found = i < lines.size() ? lines[i] : "its end";
    ensure(found == head_[i], ErrorKind::BadInput,
           "{}: holds another run's work (its journal says \"{}\" where this run has \"{}\"): choose another "
           "folder, "
           "or delete it",
           folder_.string(), found, head_[i]);
  }
  read_shards(lines, head_.size());
}

// "shard FILE BYTES ERRORS", and so many error lines.
void RewriteJournal::read_shards(const std::vector<std::string>& lines, std::size_t at) {
  while (at < lines.size()) {
    std::istringstream words(lines[at++]);
    std::string kind, file;
    FinishedShard shard;
    std::size_t count = 0;
    words >> kind >> file >> shard.file_bytes >> count;
    if (!words || kind != "shard" || count > lines.size() - at) return;
    for (std::size_t i = 0; i < count; ++i) {
      RewriteError error;
      if (!read_error(lines[at++], error)) return;
      shard.errors.push_back(std::move(error));
    }
    shards_.insert_or_assign(file, std::move(shard));
  }
}

const FinishedShard* RewriteJournal::find(const std::string& file) const {
  const auto at = shards_.find(file);
  return at != shards_.end() ? &at->second : nullptr;
}

void RewriteJournal::add(const std::string& file, FinishedShard shard) {
  shards_.insert_or_assign(file, std::move(shard));
  write();
}

void RewriteJournal::write() const {
  std::string text;
  for (const std::string& line : head_) text += line + "\n";
  for (const auto& [file, shard] : shards_) {
    text += fmt::format("shard {} {} {}\n", file, shard.file_bytes, shard.errors.size());
    for (const RewriteError& error : shard.errors) {
      const quant::EncodingError& sums = error.sums;
      text += fmt::format("error {} {} {} {:a} {:a} {:a} {:a}\n", error.label, static_cast<int>(error.format),
                          sums.weights, sums.difference, sums.original, sums.decoded, sums.product);
    }
  }
  write_whole_file(folder_ / kJournalFile, text);
}

}  // namespace redline::checkpoint
