// Single elements and sizes of packed weights.
#include "ops/matmul/packed_weight.hpp"

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "ops/elements.hpp"

namespace redline::ops {
namespace {

double scale_at(const PackedWeight& weight, const WeightPart& part, std::int64_t index) {
  const TensorView scales =
      dense_view(const_cast<void*>(part.scales), weight.scheme.scale.value_or(DType::F32), {index + 1});
  return load(scales, {index});
}

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step; }

}  // namespace

double element(const PackedWeight& weight, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  ensure(weight.layout == Layout::Plain && weight.place == Place::Host,
         "single elements are read from plain host weights only");
  const std::int64_t rows_per_part = weight.out / weight.parts_per_matrix;
  const WeightPart& part = weight.part(matrix, row / rows_per_part);
  const std::int64_t r = row % rows_per_part;
  const quant::Scheme& scheme = weight.scheme;
  double value = 0;
  if (scheme.element == DType::F4E2M1) {
    const auto* codes = static_cast<const std::uint8_t*>(part.elements);
    const std::uint8_t byte = codes[(r * weight.in + column) / 2];
    value = from_e2m1(static_cast<std::uint8_t>(column % 2 == 0 ? byte & 15 : byte >> 4));
  } else {
    value = load(dense_view(const_cast<void*>(part.elements), scheme.element, {part.rows, weight.in}),
                 {r, column});
  }
  if (scheme.block_columns > 0) {
    const std::int64_t per_row = rounded_up(weight.in, scheme.block_columns);
    value *= scale_at(weight, part, r / scheme.block_rows * per_row + column / scheme.block_columns);
  } else if (scheme.channel_scale) {
    value *= scale_at(weight, part, r);
  }
  return value * part.multiplier;
}

std::int64_t bytes_per_matrix(const PackedWeight& weight) {
  return weight.parts_per_matrix *
         quant::bytes_of(weight.scheme, weight.out / weight.parts_per_matrix, weight.in);
}

std::int64_t bytes_of(const PackedWeight& weight) { return weight.matrices * bytes_per_matrix(weight); }

}  // namespace redline::ops
