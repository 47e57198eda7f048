// Lays the settings of each row where the sample operator reads them.
#include "runtime/row_sampler.hpp"

#include <algorithm>
#include <cstring>

#include "ops/ring.hpp"
#include "ops/sample/sample.hpp"

namespace redline::runtime {
namespace {

constexpr std::int64_t kMostRows = ops::kRingRows;

// Columns of one buffer, [kMostRows] each of at most eight bytes.
enum Column : std::int64_t {
  kTemperature,
  kTopK,
  kTopP,
  kMinP,
  kSeed,
  kPosition,
  kPresence,
  kFrequency,
  kRepetition,
  kColumns
};

template <class T>
TensorView column(Buffer& buffer, Column which, DType dtype, std::int64_t rows, T value) {
  auto* data = reinterpret_cast<T*>(static_cast<std::byte*>(buffer.data()) + which * kMostRows * 8);
  std::fill_n(data, rows, value);
  return dense_view(data, dtype, {rows});
}

}  // namespace

RowSampler::RowSampler(Device& device, const Sampling& sampling, std::int64_t vocabulary)
    : sampling_(sampling),
      vocabulary_(vocabulary),
      inputs_(device.allocate(static_cast<std::size_t>(kColumns * kMostRows * 8), Place::Host)),
      ids_(device.allocate(static_cast<std::size_t>(kMostRows) * 4, Place::Host)) {
  if (!penalises()) return;
  counts_ = device.allocate(static_cast<std::size_t>(kMostRows * vocabulary) * 4, Place::Host);
  seen_.assign(static_cast<std::size_t>(vocabulary), 0);
}

bool RowSampler::penalises() const {
  return sampling_.presence_penalty != 0 || sampling_.frequency_penalty != 0 ||
         sampling_.repetition_penalty != 1;
}

std::span<const std::int32_t> RowSampler::draw(ops::Exec exec, const TensorView& logits,
                                               std::int64_t position, std::span<const std::int32_t> guesses) {
  const std::int64_t rows = logits.shape[0];
  ops::sample::Args args{
      .logits = logits,
      .vocabulary = static_cast<int>(vocabulary_),
      .temperature = column(inputs_, kTemperature, DType::F32, rows, sampling_.temperature),
      .top_k = column(inputs_, kTopK, DType::I32, rows, sampling_.top_k),
      .top_p = column(inputs_, kTopP, DType::F32, rows, sampling_.top_p),
      .min_p = column(inputs_, kMinP, DType::F32, rows, sampling_.min_p),
      .seed = column(inputs_, kSeed, DType::I64, rows, static_cast<std::int64_t>(sampling_.seed)),
      .position = column(inputs_, kPosition, DType::I32, rows, std::int32_t{0}),
      .ids = dense_view(ids_.data(), DType::I32, {rows})};
  for (std::int64_t r = 0; r < rows; ++r)
    static_cast<std::int32_t*>(args.position.data)[r] = static_cast<std::int32_t>(position + r);
  if (penalises()) {
    auto* counts = static_cast<std::int32_t*>(counts_.data());
    std::vector<std::int32_t> now = seen_;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::copy(now.begin(), now.end(), counts + r * vocabulary_);
      if (r < static_cast<std::int64_t>(guesses.size()))
        ++now[static_cast<std::size_t>(guesses[static_cast<std::size_t>(r)])];
    }
    args.counts = dense_view(counts, DType::I32, {rows, vocabulary_});
    args.presence = column(inputs_, kPresence, DType::F32, rows, sampling_.presence_penalty);
    args.frequency = column(inputs_, kFrequency, DType::F32, rows, sampling_.frequency_penalty);
    args.repetition = column(inputs_, kRepetition, DType::F32, rows, sampling_.repetition_penalty);
  }
  ops::sample::run(exec, args);
  return {static_cast<const std::int32_t*>(ids_.data()), static_cast<std::size_t>(rows)};
}

std::span<const std::int32_t> RowSampler::most_likely(ops::Exec exec, const TensorView& logits) {
  const std::int64_t rows = logits.shape[0];
  ops::sample::run(exec, {.logits = logits,
                          .vocabulary = static_cast<int>(vocabulary_),
                          .temperature = column(inputs_, kTemperature, DType::F32, rows, 0.0f),
                          .top_k = column(inputs_, kTopK, DType::I32, rows, std::int32_t{0}),
                          .top_p = column(inputs_, kTopP, DType::F32, rows, 1.0f),
                          .min_p = column(inputs_, kMinP, DType::F32, rows, 0.0f),
                          .seed = column(inputs_, kSeed, DType::I64, rows, std::int64_t{0}),
                          .position = column(inputs_, kPosition, DType::I32, rows, std::int32_t{0}),
                          .ids = dense_view(ids_.data(), DType::I32, {rows})});
  return {static_cast<const std::int32_t*>(ids_.data()), static_cast<std::size_t>(rows)};
}

void RowSampler::took(std::int32_t token) {
  if (!seen_.empty()) ++seen_[static_cast<std::size_t>(token)];
}

}  // namespace redline::runtime
