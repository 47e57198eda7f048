// Checkpoint over what contents.cpp read, or over declared tensors; look-ups by name go through a hash table.
#include "checkpoint/checkpoint.hpp"

#include <algorithm>

#include "checkpoint/contents.hpp"
#include "checkpoint/name_table.hpp"
#include "core/error.hpp"

namespace redline::checkpoint {
struct Checkpoint::Impl {
  auto name_of() const {
    return [tensors = contents.tensors.data()](std::uint32_t number) { return tensors[number].name; };
  }

  explicit Impl(Contents&& read) : contents(std::move(read)), table(contents.tensors.size()) {
    for (std::size_t i = 0; i < contents.tensors.size(); ++i)
      table.insert(contents.tensors[i].name, static_cast<std::uint32_t>(i), name_of());
  }

  Contents contents;
  NameTable table;
};

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::filesystem::path& folder) {
  Contents contents = read_folder(folder);
  if (!contents.faults.empty()) fail(contents.fault_kinds.front(), "{}", contents.faults.front().message);
  return Checkpoint(std::make_unique<Impl>(std::move(contents)));
}

Checkpoint Checkpoint::open_for_inspection(const std::filesystem::path& folder) {
  return Checkpoint(std::make_unique<Impl>(read_folder(folder)));
}

Checkpoint Checkpoint::synthetic(std::string name, std::vector<Declared> tensors) {
  Contents contents;
  contents.name = std::move(name);
  contents.bytes = Bytes::Synthetic;
  std::sort(tensors.begin(), tensors.end(),
            [](const Declared& a, const Declared& b) { return a.name < b.name; });
  contents.tensors.reserve(tensors.size());
  for (const Declared& declared : tensors) {
    ensure(contents.tensors.empty() || contents.tensors.back().name != declared.name,
           "{}: tensor \"{}\" is declared twice", contents.name, declared.name);
    const std::string_view kept = contents.texts.keep({}, declared.name);
    contents.tensors.push_back(
        {.name = kept,
         .name_on_disk = kept,
         .dtype = declared.dtype,
         .shape = declared.shape,
         .bytes = static_cast<std::uint64_t>((declared.shape.elements() * bits_of(declared.dtype) + 7) / 8)});
  }
  return Checkpoint(std::make_unique<Impl>(std::move(contents)));
}

const std::string& Checkpoint::name() const { return impl_->contents.name; }
Bytes Checkpoint::bytes() const { return impl_->contents.bytes; }
std::span<const std::filesystem::path> Checkpoint::files() const { return impl_->contents.files; }
std::span<const Tensor> Checkpoint::tensors() const { return impl_->contents.tensors; }
std::span<const Fault> Checkpoint::faults() const { return impl_->contents.faults; }
std::span<const std::string> Checkpoint::notes() const { return impl_->contents.notes; }

const Tensor* Checkpoint::find(std::string_view internal_name) const {
  const std::uint32_t number = impl_->table.find(internal_name, impl_->name_of());
  return number == NameTable::kNone ? nullptr : &impl_->contents.tensors[number];
}

TensorView Checkpoint::view(const Tensor& tensor) const {
  const Contents& contents = impl_->contents;
  ensure(contents.bytes == Bytes::Here, ErrorKind::BadCheckpoint,
         "{}: the bytes of tensor \"{}\" are not here: {}", contents.name, tensor.name_on_disk,
         contents.bytes == Bytes::Synthetic ? "synthetic weights are made at load"
                                            : "download the weight files whole");
  const auto file = static_cast<std::size_t>(tensor.file);
  const std::span<const std::byte> bytes = contents.maps[file].bytes();
  // Only inspection gets past a file that is cut short.
  ensure(tensor.has_shape && tensor.offset <= bytes.size() && tensor.bytes <= bytes.size() - tensor.offset,
         ErrorKind::BadCheckpoint,
         "{}: tensor \"{}\" has {} bytes from byte {} on, the file has {}: download it again",
         contents.files[file].filename().string(), tensor.name_on_disk, tensor.bytes, tensor.offset,
         bytes.size());
  // The map is read-only; TensorView has one pointer type for what is read and what is written.
  return dense_view(const_cast<std::byte*>(bytes.data() + tensor.offset), tensor.dtype, tensor.shape);
}

}  // namespace redline::checkpoint
