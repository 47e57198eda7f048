// Lays the units out in shards, then fills one shard after the other. Inside a shard wide types come first,
// so that every tensor is aligned to its type, as common readers want it; so bytes are written where they
// belong and not in the order of the file.
#include "checkpoint/rewrite.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/output_file.hpp"
#include "checkpoint/rewrite_journal.hpp"
#include "checkpoint/stored_tensors.hpp"
#include "checkpoint/weight_files.hpp"
#include "core/error.hpp"
#include "core/file_map.hpp"
#include "core/hash.hpp"
#include "core/units.hpp"

namespace redline::checkpoint {
namespace {

namespace fs = std::filesystem;

// Of source bytes: what is encoded, or copied, in one go. Rows of a piece are a multiple of the FP8 block.
constexpr std::uint64_t kPieceBytes = std::uint64_t{32} << 20;
constexpr std::int64_t kPieceRows = 128;

// Raised when the encoders or the layout inside a shard change, so that no folder mixes two kinds.
constexpr const char* kJournalTitle = "redline quantize, layout 1";

// e4m3 holds activations up to 448 as they are; a measured scale would be no better for values that are
// smaller.
constexpr float kInputScale = 1;

std::uint64_t output_bytes_of(const RewriteUnit& unit) {
  std::uint64_t bytes = 0;
  for (const Checkpoint::Declared& tensor : tensors_of(unit)) bytes += bytes_of(tensor);
  return bytes;
}

std::uint64_t source_bytes_of(const RewriteUnit& unit) {
  return unit.kept != nullptr ? unit.kept->bytes : static_cast<std::uint64_t>(2 * unit.rows * unit.columns);
}

struct Shard {
  std::size_t begin = 0, end = 0;  // units
  std::uint64_t source_bytes = 0, output_bytes = 0;
  std::string file;
};

std::vector<Shard> plan(const std::vector<RewriteUnit>& units, std::uint64_t most_bytes) {
  std::vector<Shard> shards{{}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::uint64_t more = output_bytes_of(units[i]);
    if (most_bytes > 0 && i > shards.back().begin && shards.back().output_bytes + more > most_bytes) {
      shards.push_back({.begin = i});
    }
    shards.back().end = i + 1;
    shards.back().output_bytes += more;
    shards.back().source_bytes += source_bytes_of(units[i]);
  }
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].file = shard_name(i, shards.size());
  return shards;
}

// The file of one shard, open at any tensor.
class ShardFile {
 public:
  ShardFile(const fs::path& path, std::span<const RewriteUnit> units) : file_(path, OutputFile::Name::Part) {
    std::vector<Checkpoint::Declared> tensors;
    for (const RewriteUnit& unit : units) {
      for (Checkpoint::Declared& tensor : tensors_of(unit)) tensors.push_back(std::move(tensor));
    }
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const auto& a, const auto& b) { return bits_of(a.dtype) > bits_of(b.dtype); });
    const std::vector<std::pair<std::string, std::string>> metadata = {{"format", "pt"}};
    const std::string header = safetensors_header(tensors, metadata);
    file_.write(header);
    bytes_ = header.size();
    for (Checkpoint::Declared& tensor : tensors) {
      const std::uint64_t size = bytes_of(tensor);
      const bool is_new = offsets_.emplace(std::move(tensor.name), bytes_).second;
      ensure(is_new, "a tensor is to be written twice");
      bytes_ += size;
    }
  }

  void write(const std::string& tensor, std::uint64_t offset, std::span<const std::byte> bytes) {
    file_.write_at(offsets_.at(tensor) + offset, bytes);
  }
  void write(const std::string& tensor, float value) {
    write(tensor, 0, std::as_bytes(std::span(&value, 1)));
  }

  std::uint64_t finish() {
    file_.complete();
    file_.rename();
    return bytes_;
  }

 private:
  OutputFile file_;
  std::unordered_map<std::string, std::uint64_t> offsets_;
  std::uint64_t bytes_ = 0;
};

// One process at a time writes into a folder. The lock is on the folder itself and ends with the process.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    ensure(descriptor_ >= 0, ErrorKind::Io, "{}: cannot be opened", folder.string());
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      fail(ErrorKind::BadInput, "{}: another process is writing there", folder.string());
    }
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  ensure(!error, ErrorKind::Io, "{}: cannot be made: {}", folder.string(), error.message());
}

void add_errors(std::vector<RewriteError>& sums, const std::vector<RewriteError>& more) {
  for (const RewriteError& error : more) {
    const auto same = [&](const RewriteError& sum) {
      return sum.label == error.label && sum.format == error.format;
    };
    const auto at = std::find_if(sums.begin(), sums.end(), same);
    if (at == sums.end()) {
      sums.push_back(error);
    } else {
      at->sums.add(error.sums);
    }
  }
}

}  // namespace

std::vector<Checkpoint::Declared> tensors_of(const RewriteUnit& unit) {
  if (unit.kept != nullptr) {
    return {{std::string(unit.kept->name_on_disk), unit.kept->dtype, unit.kept->shape}};
  }
  std::vector<Checkpoint::Declared> tensors;
  for (const StoredTensor& tensor :
       stored_tensors(unit.format, unit.rows, unit.columns, Nvfp4InputScale::None)) {
    tensors.push_back({fmt::format("{}{}", unit.module, tensor.suffix), tensor.dtype, tensor.shape});
  }
  return tensors;
}

void ensure_room(const fs::path& folder, std::uint64_t bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return;  // a file system that does not tell; writing will
  ensure(space.available >= bytes, ErrorKind::Io,
         "{}: {} are to be written and {} are free: make room or choose another folder", folder.string(),
         units::decimal_bytes(bytes), units::decimal_bytes(space.available));
}

struct Rewrite::Impl {
  Impl(const Checkpoint& checkpoint, std::vector<RewriteUnit> list, RewriteOptions chosen)
      : from(checkpoint),
        units(std::move(list)),
        options(std::move(chosen)),
        shards(plan(units, options.most_shard_bytes)),
        lock(options.folder),
        journal(options.folder, head()) {
    refuse_strangers();
    std::uint64_t missing = 0;
    for (const Shard& shard : shards) {
      if (!is_finished(shard)) {
        journal.forget(shard.file);
        missing += shard.output_bytes;
      }
    }
    ensure_room(options.folder, missing);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (units[i].shared_scale >= 0) sharing[units[i].shared_scale].push_back(i);
    }
  }

  // What the journal must say for its shards to be ours. Weights are not read for it: a file that was changed
  // has another time.
  std::vector<std::string> head() const {
    std::vector<std::string> lines = {kJournalTitle};
    lines.insert(lines.end(), options.choices.begin(), options.choices.end());
    lines.push_back(fmt::format("most bytes of a shard {}", options.most_shard_bytes));
    std::uint64_t plan = 0;
    for (const RewriteUnit& unit : units) {
      const std::string text =
          unit.kept != nullptr
              ? std::string(unit.kept->name_on_disk)
              : fmt::format("{} {} {} {} {} {} {}", unit.module, unit.source->name_on_disk, unit.first_byte,
                            unit.rows, unit.columns, quant::name_of(unit.format), unit.shared_scale);
      plan = hash_bytes(std::as_bytes(std::span(text)), plan);
    }
    lines.push_back(fmt::format("plan {:016x}, {} units", plan, units.size()));
    for (const fs::path& file : from.files()) {
      const auto time = fs::last_write_time(file).time_since_epoch().count();
      lines.push_back(
          fmt::format("source {} {} bytes, time {}", file.filename().string(), fs::file_size(file), time));
    }
    return lines;
  }

  void refuse_strangers() const {
    std::unordered_set<std::string> ours = {kJournalFile, kIndexFile};
    ours.insert(options.other_files.begin(), options.other_files.end());
    for (const Shard& shard : shards) ours.insert(shard.file);
    for (const fs::directory_entry& entry : fs::directory_iterator(options.folder)) {
      std::string name = entry.path().filename().string();
      constexpr std::string_view kPart = ".part";
      if (name.ends_with(kPart)) name.resize(name.size() - kPart.size());
      // The journal comes first into the folder, so without it nothing can be ours.
      const bool known = ours.contains(name) && (journal.found() || name == kJournalFile);
      ensure(known, ErrorKind::BadInput, "{}: holds {}: --output wants a folder that is empty or not there",
             options.folder.string(), entry.path().filename().string());
    }
  }

  bool is_finished(const Shard& shard) const {
    const FinishedShard* record = journal.find(shard.file);
    std::error_code error;
    return record != nullptr && fs::file_size(options.folder / shard.file, error) == record->file_bytes &&
           !error;
  }

  std::span<const std::byte> bytes_of_source(const Tensor& tensor, std::uint64_t first,
                                             std::uint64_t count) const {
    return std::span(static_cast<const std::byte*>(from.view(tensor).data), tensor.bytes)
        .subspan(first, count);
  }
  std::span<const std::byte> bytes_of_source(const RewriteUnit& unit) const {
    return bytes_of_source(*unit.source, unit.first_byte, source_bytes_of(unit));
  }

  // Of all that share it. Units that share follow each other, so the last one asked for is kept.
  float scale_of(ThreadPool& pool, const RewriteUnit& unit) {
    if (unit.format == quant::Format::Fp8Block) return 1;
    if (unit.shared_scale >= 0 && unit.shared_scale == last_shared) return last_scale;
    float largest = 0;
    if (unit.shared_scale < 0) {
      largest = quant::largest_bf16(pool, bytes_of_source(unit), unit.module);
    } else {
      for (const std::size_t i : sharing.at(unit.shared_scale)) {
        largest = std::max(largest, quant::largest_bf16(pool, bytes_of_source(units[i]), units[i].module));
      }
    }
    last_shared = unit.shared_scale;
    last_scale = quant::tensor_scale_of(unit.format, largest);
    return last_scale;
  }

  void copy(const Tensor& tensor, ShardFile& file, const std::function<void(std::uint64_t)>& report) {
    const std::string name(tensor.name_on_disk);
    for (std::uint64_t at = 0; at < tensor.bytes; at += kPieceBytes) {
      const auto piece = bytes_of_source(tensor, at, std::min(kPieceBytes, tensor.bytes - at));
      file.write(name, at, piece);
      forget_pages(piece);
      done += piece.size();
      report(done);
    }
  }

  quant::EncodingError encode(ThreadPool& pool, const RewriteUnit& unit, ShardFile& file,
                              const std::function<void(std::uint64_t)>& report) {
    const float scale = scale_of(pool, unit);
    const auto row_bytes = static_cast<std::int64_t>(2 * unit.columns);
    const std::int64_t block_rows = std::max<std::int64_t>(row_bytes * kPieceRows, 1);
    const std::int64_t piece_rows =
        std::max<std::int64_t>(static_cast<std::int64_t>(kPieceBytes) / block_rows, 1) * kPieceRows;
    const auto all = bytes_of_source(unit);
    quant::EncodingError sums;
    std::uint64_t codes_at = 0, scales_at = 0;
    for (std::int64_t row = 0; row < unit.rows; row += piece_rows) {
      const std::int64_t rows = std::min(piece_rows, unit.rows - row);
      const auto piece =
          all.subspan(static_cast<std::size_t>(row * row_bytes), static_cast<std::size_t>(rows * row_bytes));
      std::uint64_t scale_bytes = 0;
      for (const StoredTensor& tensor :
           stored_tensors(unit.format, rows, unit.columns, Nvfp4InputScale::None)) {
        const auto size = static_cast<std::uint64_t>(tensor.shape.elements() * bits_of(tensor.dtype)) / 8;
        if (tensor.suffix == ".weight") codes.resize(size);
        if (tensor.shape.dims > 0 && tensor.suffix != ".weight") scale_bytes = size;
      }
      scales.resize(scale_bytes);
      sums.add(quant::encode_weight(pool, {.format = unit.format,
                                           .rows = rows,
                                           .columns = unit.columns,
                                           .values = piece,
                                           .tensor_scale = scale,
                                           .codes = codes,
                                           .scales = scales,
                                           .name = unit.module}));
      file.write(unit.module + ".weight", codes_at, std::as_bytes(std::span(codes)));
      codes_at += codes.size();
      if (!scales.empty()) {
        const bool inverse = unit.format == quant::Format::Fp8Block;
        file.write(unit.module + (inverse ? ".weight_scale_inv" : ".weight_scale"), scales_at, scales);
        scales_at += scales.size();
      }
      forget_pages(piece);
      done += piece.size();
      report(done);
    }
    if (unit.format == quant::Format::Nvfp4) file.write(unit.module + ".weight_scale_2", scale);
    if (unit.format == quant::Format::Fp8Tensor) {
      file.write(unit.module + ".weight_scale", scale);
      file.write(unit.module + ".input_scale", kInputScale);
    }
    return sums;
  }

  void write_shard(ThreadPool& pool, const Shard& shard, const std::function<void(std::uint64_t)>& report) {
    const auto inside = std::span(units).subspan(shard.begin, shard.end - shard.begin);
    ShardFile file(options.folder / shard.file, inside);
    FinishedShard finished;
    for (const RewriteUnit& unit : inside) {
      if (unit.kept != nullptr) {
        copy(*unit.kept, file, report);
      } else {
        const quant::EncodingError sums = encode(pool, unit, file, report);
        add_errors(finished.errors, {{.label = unit.label, .format = unit.format, .sums = sums}});
      }
    }
    finished.file_bytes = file.finish();
    flush_folder(options.folder);
    journal.add(shard.file, std::move(finished));
  }

  void write_index() const {
    std::vector<std::vector<Checkpoint::Declared>> tensors;
    std::vector<IndexLine> lines;
    std::uint64_t total = 0;
    for (const Shard& shard : shards) {
      for (std::size_t i = shard.begin; i < shard.end; ++i) {
        tensors.push_back(tensors_of(units[i]));
        for (const Checkpoint::Declared& tensor : tensors.back()) {
          lines.push_back({tensor.name, shard.file});
          total += bytes_of(tensor);
        }
      }
    }
    write_whole_file(options.folder / kIndexFile, index_text(lines, total));
  }

  const Checkpoint& from;
  std::vector<RewriteUnit> units;
  RewriteOptions options;
  std::vector<Shard> shards;
  FolderLock lock;
  RewriteJournal journal;
  std::unordered_map<int, std::vector<std::size_t>> sharing;
  int last_shared = -1;
  float last_scale = 1;
  std::uint64_t done = 0;  // source bytes
  std::vector<std::uint8_t> codes;
  std::vector<std::byte> scales;
};

Rewrite::Rewrite(const Checkpoint& from, std::vector<RewriteUnit> units, RewriteOptions options) {
  ensure(from.bytes() == Bytes::Here, ErrorKind::BadInput,
         "{}: its weights are not here; quantize reads them", from.name());
  make_folder(options.folder);
  impl_ = std::make_unique<Impl>(from, std::move(units), std::move(options));
}

Rewrite::~Rewrite() = default;

std::uint64_t Rewrite::source_bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : impl_->shards) bytes += shard.source_bytes;
  return bytes;
}

std::uint64_t Rewrite::kept_source_bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : impl_->shards) bytes += impl_->is_finished(shard) ? shard.source_bytes : 0;
  return bytes;
}

std::uint64_t Rewrite::output_bytes() const {
  std::uint64_t bytes = 0;
  for (const Shard& shard : impl_->shards) bytes += shard.output_bytes;
  return bytes;
}

std::size_t Rewrite::shards() const { return impl_->shards.size(); }

std::size_t Rewrite::kept_shards() const {
  const auto finished = [&](const Shard& shard) { return impl_->is_finished(shard); };
  return static_cast<std::size_t>(std::count_if(impl_->shards.begin(), impl_->shards.end(), finished));
}

void Rewrite::run(ThreadPool& pool, const std::function<void(std::uint64_t)>& report) {
  impl_->journal.write();
  impl_->done = kept_source_bytes();
  for (const Shard& shard : impl_->shards) {
    if (!impl_->is_finished(shard)) impl_->write_shard(pool, shard, report);
  }
  if (impl_->shards.size() > 1) impl_->write_index();
}

std::vector<RewriteError> Rewrite::errors() const {
  std::vector<RewriteError> sums;
  for (const Shard& shard : impl_->shards) {
    if (const FinishedShard* finished = impl_->journal.find(shard.file)) add_errors(sums, finished->errors);
  }
  return sums;
}

}  // namespace redline::checkpoint
