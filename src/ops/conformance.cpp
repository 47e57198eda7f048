// Case memory and comparison.
#include "ops/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/philox.hpp"

namespace redline::ops {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kNanPattern{0xFF};  // NaN in every float type of ours, -1 as an integer

}  // namespace

struct CaseBuilder::Block {
  std::vector<std::byte> bytes;  // guard, data, guard
  std::vector<std::byte> first;  // what poison_outputs() restores; empty for inputs
  std::size_t size() const { return bytes.size() - 2 * kGuardBytes; }
  std::byte* data() { return bytes.data() + kGuardBytes; }
};

CaseBuilder::CaseBuilder(std::uint64_t seed, For whom) : seed_(seed), whom_(whom) {}
CaseBuilder::~CaseBuilder() = default;

std::uint32_t CaseBuilder::random() { return random_bits(seed_, 0, drawn_++); }

TensorView CaseBuilder::make(DType dtype, const Shape& shape) {
  auto block = std::make_unique<Block>();
  block->bytes.assign(static_cast<std::size_t>(shape.elements() * bits_of(dtype) / 8) + 2 * kGuardBytes,
                      kGuard);
  TensorView view = dense_view(block->data(), dtype, shape);
  blocks_.push_back(std::move(block));
  return view;
}

TensorView CaseBuilder::normal(DType dtype, const Shape& shape, double deviation, double mean) {
  const TensorView view = make(dtype, shape);
  for_each_index(shape, [&](const Index& index) {
    // Box and Muller; 1 - u keeps the logarithm finite.
    const double u = uniform_float(seed_, 1, drawn_), v = uniform_float(seed_, 2, drawn_);
    ++drawn_;
    store(view, index,
          mean + deviation * std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v));
  });
  return view;
}

TensorView CaseBuilder::integers(const std::vector<std::int32_t>& values) {
  return integers({static_cast<std::int64_t>(values.size())}, values);
}

TensorView CaseBuilder::integers(const Shape& shape, const std::vector<std::int32_t>& values) {
  const TensorView view = make(DType::I32, shape);
  ensure(shape.elements() == static_cast<std::int64_t>(values.size()), "{} integers for shape {}",
         values.size(), to_text(shape));
  if (!values.empty()) std::memcpy(view.data, values.data(), values.size() * sizeof(values[0]));
  return view;
}

TensorView CaseBuilder::random_integers(const Shape& shape, std::int32_t below) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.elements()));
  for (auto& value : values) value = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(below));
  return integers(shape, values);
}

TensorView CaseBuilder::zeros(DType dtype, const Shape& shape) {
  const TensorView view = make(dtype, shape);
  std::memset(view.data, 0, blocks_.back()->size());
  return view;
}

DType CaseBuilder::output_type(DType dtype) const {
  const bool narrow = dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F8E4M3;
  return narrow && whom_ == For::Reference ? DType::F32 : dtype;
}

TensorView CaseBuilder::output(DType dtype, const Shape& shape) {
  const TensorView view = make(output_type(dtype), shape);
  blocks_.back()->first.assign(blocks_.back()->size(), kNanPattern);
  std::memset(view.data, static_cast<int>(kNanPattern), blocks_.back()->size());
  outputs_.push_back(view);
  return view;
}

TensorView CaseBuilder::normal_in_out(DType dtype, const Shape& shape, double deviation) {
  const TensorView rounded = normal(dtype, shape, deviation);
  const TensorView view = make(output_type(dtype), shape);
  for_each_index(shape, [&](const Index& index) { store(view, index, load(rounded, index)); });
  Block& block = *blocks_.back();
  block.first.assign(block.data(), block.data() + block.size());
  outputs_.push_back(view);
  return view;
}

TensorView CaseBuilder::bytes_in_out(const Shape& shape) {
  TensorView view = zeros(DType::U8, shape);
  Block& block = *blocks_.back();
  block.first.assign(block.size(), std::byte{0});
  outputs_.push_back(dense_view(view.data, DType::F32, {shape.elements() / 4}));
  return view;
}

TensorView CaseBuilder::bytes_in_out(const Shape& shape, const TensorView& first, DType compared) {
  const TensorView view = make(DType::U8, shape);
  Block& block = *blocks_.back();
  ensure(first.shape.elements() * bits_of(first.dtype) / 8 == shape.elements(),
         "first contents {} of {} for {} bytes", to_text(first.shape), name_of(first.dtype),
         shape.elements());
  std::memcpy(view.data, first.data, block.size());
  block.first.assign(block.data(), block.data() + block.size());
  outputs_.push_back(dense_view(view.data, compared, {shape.elements() * 8 / bits_of(compared)}));
  return view;
}

const PackedWeight& CaseBuilder::weight(const quant::Scheme& scheme, std::int64_t matrices, std::int64_t out,
                                        std::int64_t in, int parts_per_matrix) {
  auto weight = std::make_unique<PackedWeight>();
  weight->scheme = scheme;
  weight->matrices = matrices;
  weight->out = out;
  weight->in = in;
  weight->parts_per_matrix = parts_per_matrix;
  ensure(out % parts_per_matrix == 0, "{} rows do not divide into {} parts", out, parts_per_matrix);
  const std::int64_t rows = out / parts_per_matrix;
  const double deviation = 1 / std::sqrt(static_cast<double>(in));
  const auto random_bytes = [&](std::int64_t count, auto&& make_byte) {
    const TensorView view = make(DType::U8, {count});
    auto* bytes = static_cast<std::uint8_t*>(view.data);
    for (std::int64_t i = 0; i < count; ++i) bytes[i] = make_byte();
    return view.data;
  };
  for (std::int64_t p = 0; p < matrices * parts_per_matrix; ++p) {
    WeightPart part{.rows = rows};
    const std::int64_t block_rows =
        scheme.block_rows > 0 ? (rows + scheme.block_rows - 1) / scheme.block_rows : 0;
    const std::int64_t block_columns =
        scheme.block_columns > 0 ? (in + scheme.block_columns - 1) / scheme.block_columns : 0;
    switch (scheme.element) {
      case DType::F4E2M1:
        part.elements = random_bytes(rows * in / 2, [&] { return static_cast<std::uint8_t>(random()); });
        // Scales between 2^-3 and 2^1 and all their mantissas; the multiplier differs between parts so that
        // mixing them up shows.
        part.scales = random_bytes(block_rows * block_columns,
                                   [&] { return static_cast<std::uint8_t>(0x20 + random() % 33); });
        part.multiplier = static_cast<float>(deviation / 3 * (1 + 0.25 * static_cast<double>(p % 3)));
        break;
      case DType::F8E4M3:
        part.elements = random_bytes(rows * in, [&] {
          const std::uint32_t bits = random();
          return static_cast<std::uint8_t>((bits & 0x80) | ((bits >> 8) % 0x7f));  // every finite code
        });
        if (scheme.scale) {
          const std::int64_t count = scheme.channel_scale ? rows : block_rows * block_columns;
          part.scales = normal(*scheme.scale, {count}, deviation / 400, deviation / 100).data;
        } else {
          part.multiplier = static_cast<float>(deviation / 100 * (1 + 0.25 * static_cast<double>(p % 3)));
        }
        break;
      default:
        part.elements = normal(scheme.element, {rows, in}, deviation).data;
        break;
    }
    weight->parts.push_back(part);
  }
  weights_.push_back(std::move(weight));
  return *weights_.back();
}

void CaseBuilder::poison_outputs() {
  for (const auto& block : blocks_) {
    if (!block->first.empty()) std::copy(block->first.begin(), block->first.end(), block->data());
  }
}

std::string CaseBuilder::broken_guards() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto& bytes = blocks_[i]->bytes;
    const auto intact = [](auto begin, auto end) {
      return std::all_of(begin, end, [](std::byte b) { return b == kGuard; });
    };
    if (!intact(bytes.begin(), bytes.begin() + kGuardBytes))
      return fmt::format("block {} of the case: bytes before it were overwritten", i);
    if (!intact(bytes.end() - kGuardBytes, bytes.end()))
      return fmt::format("block {} of the case: bytes behind it were overwritten", i);
  }
  return {};
}

void poison_scratch(Exec& exec, std::size_t bytes) {
  if (bytes == 0) return;
  const Arena::Scope scope(exec.scratch);
  const Shape shape{static_cast<std::int64_t>(bytes)};
  std::vector<std::byte> pattern(bytes, kNanPattern);
  exec.device.copy(dense_view(pattern.data(), DType::U8, shape), exec.scratch.take(DType::U8, shape),
                   exec.stream);
  exec.device.wait(exec.stream);
}

std::string worst_difference(std::span<const TensorView> found, std::span<const TensorView> expected,
                             const Tolerance& tolerance) {
  double worst = 1;  // difference over bound
  std::string text;
  for (std::size_t t = 0; t < found.size(); ++t) {
    const bool exact =
        found[t].dtype == DType::I32 || found[t].dtype == DType::I64 || found[t].dtype == DType::U8;
    for_each_index(found[t].shape, [&](const Index& index) {
      const double a = load(found[t], index), b = load(expected[t], index);
      if (a == b) return;
      const double bound = exact ? 0 : tolerance.absolute + tolerance.relative * std::abs(b);
      const double ratio =
          bound > 0 && std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / bound : INFINITY;
      if (ratio <= worst) return;
      worst = ratio;
      text = fmt::format("output {} at [{}, {}, {}, {}, {}]: found {}, expected {}, bound {:.3g}", t,
                         index[0], index[1], index[2], index[3], index[4], a, b, bound);
    });
  }
  return text;
}

}  // namespace redline::ops
