// On a CPU: each thread a range of elements, four of them from each Philox block.
#include "ops/fill/fill.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "core/philox.hpp"
#include "device/cpu/cpu_device.hpp"

namespace redline::ops::fill {
namespace {

constexpr double kFp8Deviation = 64;  // of FP8 elements: the largest, 3.45 times that, is well inside 448
constexpr double kScaleMeanSquare = 1 + 1.0 / 48;          // of 0.75 + u / 2: 1 + (1/2)² / 12
constexpr double kNvfp4CodeMeanSquare = 8.5625;            // (0 + 0.25 + 1 + 2.25 + 4 + 9 + 16 + 36) / 8
constexpr double kNvfp4ScaleMeanSquare = 2.1484375;        // mean of (1 + m / 8)² over m = 0 … 7
constexpr std::uint64_t kScales = std::uint64_t{1} << 32;  // added to the part for its scales

// Mean 0, variance 1: the variance of a byte is (256² - 1) / 12.
float near_normal(std::uint32_t word) {
  const auto sum = static_cast<int>((word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24));
  constexpr float kDeviation = 147.8005413f;  // √21845
  return static_cast<float>(sum - 510) / kDeviation;
}

PhiloxBlock block_of(std::uint64_t seed, std::uint64_t stream, std::uint64_t block) {
  return philox4x32_10({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                         static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}},
                       static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

// body(i, word i) for i in [0, count).
template <class Body>
void for_words(Exec& exec, std::int64_t count, std::uint64_t seed, std::uint64_t stream, const Body& body) {
  ensure(exec.device.info().kind == DeviceKind::Cpu, "weights are filled on a CPU only, so far");
  const auto blocks = static_cast<std::size_t>((count + 3) / 4);
  static_cast<CpuDevice&>(exec.device).threads().parallel_for(blocks, [&](const ThreadPool::Chunk& chunk) {
    for (std::size_t b = chunk.begin; b < chunk.end; ++b) {
      const PhiloxBlock words = block_of(seed, stream, b);
      const auto first = static_cast<std::int64_t>(b) * 4;
      const std::int64_t last = std::min<std::int64_t>(4, count - first);
      for (std::int64_t i = 0; i < last; ++i) body(first + i, words.words[i]);
    }
  });
}

void floats(Exec& exec, void* data, DType dtype, std::int64_t count, float mean, float deviation,
            std::uint64_t seed, std::uint64_t stream) {
  const auto fill = [&](auto* out, auto convert) {
    for_words(exec, count, seed, stream, [=](std::int64_t i, std::uint32_t word) {
      out[i] = convert(mean + deviation * near_normal(word));
    });
  };
  switch (dtype) {
    case DType::F32:
      return fill(static_cast<float*>(data), [](float value) { return value; });
    case DType::BF16:
      return fill(static_cast<std::uint16_t*>(data), [](float value) { return to_bf16(value); });
    case DType::F16:
      return fill(static_cast<std::uint16_t*>(data), [](float value) { return to_f16(value); });
    case DType::F8E4M3:
      return fill(static_cast<std::uint8_t*>(data), [](float value) { return to_e4m3(value); });
    default:
      fail(ErrorKind::Internal, "a tensor of {} cannot be filled with numbers", name_of(dtype));
  }
}

void scales(Exec& exec, void* data, DType dtype, std::int64_t count, float base, std::uint64_t seed,
            std::uint64_t part) {
  for_words(exec, count, seed, kScales + part, [=](std::int64_t i, std::uint32_t word) {
    if (dtype == DType::F8E4M3) {
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(0x38 | (word & 7));  // 0x38 is 1.0
      return;
    }
    const float value = base * (0.75f + 0.5f * static_cast<float>(word >> 8) * 0x1p-24f);
    if (dtype == DType::F32) static_cast<float*>(data)[i] = value;
    if (dtype == DType::BF16) static_cast<std::uint16_t*>(data)[i] = to_bf16(value);
  });
}

void nvfp4_part(Exec& exec, const PackedWeight& weight, WeightPart& part, std::uint64_t seed,
                std::uint64_t index) {
  const std::int64_t count = part.rows * weight.in;
  auto* codes = static_cast<std::uint8_t*>(const_cast<void*>(part.elements));
  const std::int64_t bytes = count / 2;
  for_words(exec, (bytes + 3) / 4, seed, index, [=](std::int64_t i, std::uint32_t word) {
    for (std::int64_t b = 0; b < std::min<std::int64_t>(4, bytes - 4 * i); ++b)
      codes[4 * i + b] = static_cast<std::uint8_t>(word >> (8 * b));
  });
  scales(exec, const_cast<void*>(part.scales), *weight.scheme.scale, count / weight.scheme.block_columns, 1,
         seed, index);
  part.multiplier = static_cast<float>(
      1 / std::sqrt(static_cast<double>(weight.in) * kNvfp4CodeMeanSquare * kNvfp4ScaleMeanSquare));
}

void fp8_part(Exec& exec, const PackedWeight& weight, WeightPart& part, std::uint64_t seed,
              std::uint64_t index) {
  const quant::Scheme& scheme = weight.scheme;
  floats(exec, const_cast<void*>(part.elements), DType::F8E4M3, part.rows * weight.in, 0, kFp8Deviation, seed,
         index);
  const double whole = 1 / (std::sqrt(static_cast<double>(weight.in)) * kFp8Deviation);
  if (scheme.tensor_scale) {
    part.multiplier = static_cast<float>(whole);
    return;
  }
  std::int64_t count = part.rows;
  if (!scheme.channel_scale) {
    count = (part.rows + scheme.block_rows - 1) / scheme.block_rows *
            ((weight.in + scheme.block_columns - 1) / scheme.block_columns);
  }
  scales(exec, const_cast<void*>(part.scales), *scheme.scale, count,
         static_cast<float>(whole / std::sqrt(kScaleMeanSquare)), seed, index);
}

}  // namespace

void weight(Exec& exec, PackedWeight& weight, std::uint64_t seed) {
  ensure(weight.layout == Layout::Plain, "only plain weights are filled");
  std::uint64_t index = 0;
  for (WeightPart& part : weight.parts) {
    switch (weight.scheme.element) {
      case DType::F4E2M1:
        nvfp4_part(exec, weight, part, seed, index);
        break;
      case DType::F8E4M3:
        fp8_part(exec, weight, part, seed, index);
        break;
      default:
        floats(exec, const_cast<void*>(part.elements), weight.scheme.element, part.rows * weight.in, 0,
               static_cast<float>(1 / std::sqrt(static_cast<double>(weight.in))), seed, index);
    }
    ++index;
  }
}

void tensor(Exec& exec, const TensorView& tensor, double mean, double deviation, std::uint64_t seed) {
  floats(exec, tensor.data, tensor.dtype, tensor.shape.elements(), static_cast<float>(mean),
         static_cast<float>(deviation), seed, 0);
}

}  // namespace redline::ops::fill
