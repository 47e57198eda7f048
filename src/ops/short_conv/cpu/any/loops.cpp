// A thread takes some of the channels, for all sequences and rows. Kept inputs and ring lie one after another
// in a slot, so a row's window is four rows of [slot rows | new rows], wherever it begins.
#include <cmath>

#include "core/error.hpp"
#include "ops/cpu_share.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops::short_conv::cpu_any {
namespace {

constexpr std::int64_t kKept = kTaps - 1;
constexpr std::int64_t kBlock = 512;  // channels whose weights are widened at once

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.u.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"u or y is not BF16"};
  if (!is_parameter(args.weight.dtype)) return {"weight is neither BF16 nor F32"};
  return {};
}

// Channels [first, first + width) of one sequence.
void convolve(const Args& args, std::int64_t s, std::int64_t first, std::int64_t width) {
  float weight[kTaps][kBlock];
  for (std::int64_t c = 0; c < width; ++c) {
    for (int j = 0; j < kTaps; ++j)
      weight[j][c] =
          parameter(args.weight, (first + c) * args.weight.strides[0] + j * args.weight.strides[1]);
  }
  const std::int64_t channels = args.u.shape[1];
  const std::int32_t slot = integers(args.ring.slots)[s], count = integers(args.ring.counts)[slot];
  const std::int64_t begin = integers(args.ring.row_begin)[s],
                     rows = integers(args.ring.row_begin)[s + 1] - begin;
  const bool into_ring = integers(args.ring.into_ring)[s] != 0;
  ensure(!into_ring || rows <= kRingRows, "{} rows for a ring of {}", rows, kRingRows);
  auto* kept = reinterpret_cast<std::uint16_t*>(static_cast<std::byte*>(args.state.data) +
                                                slot * args.state.strides[0]) +
               first;
  const auto* u = static_cast<const std::uint16_t*>(args.u.data) + begin * args.u.strides[0] + first;
  const auto input = [&](std::int64_t i) {  // the i-th of all inputs that are known
    return i < kKept + count ? kept + i * channels : u + (i - kKept - count) * args.u.strides[0];
  };
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::uint16_t *u0 = input(count + i), *u1 = input(count + i + 1), *u2 = input(count + i + 2),
                        *u3 = input(count + i + 3);
    auto* y = static_cast<std::uint16_t*>(args.y.data) + (begin + i) * args.y.strides[0] + first;
    for (std::int64_t c = 0; c < width; ++c) {
      const float sum = weight[0][c] * widened(u0[c]) + weight[1][c] * widened(u1[c]) +
                        weight[2][c] * widened(u2[c]) + weight[3][c] * widened(u3[c]);
      y[c] = narrowed(sum / (1 + std::exp(-sum)));
    }
  }
  const auto keep_from = [&](std::int64_t oldest) {  // upwards: no row is overwritten before it is read
    for (std::int64_t i = 0; i < kKept; ++i) {
      if (oldest > 0)
        __builtin_memcpy(kept + i * channels, input(oldest + i),
                         static_cast<std::size_t>(width) * sizeof(*kept));
    }
  };
  if (!into_ring) return keep_from(count + rows);
  const bool fold = count + rows > kRingRows;
  if (fold) keep_from(count);
  for (std::int64_t i = 0; i < rows; ++i) {
    __builtin_memcpy(kept + (kKept + (fold ? 0 : count) + i) * channels, u + i * args.u.strides[0],
                     static_cast<std::size_t>(width) * sizeof(*kept));
  }
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t channels = args.u.shape[1], blocks = (channels + kBlock - 1) / kBlock;
  share_out(exec, blocks, args.u.shape[0] * channels * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t width = channels - block * kBlock < kBlock ? channels - block * kBlock : kBlock;
      for (std::int64_t s = 0; s < args.ring.slots.shape[0]; ++s) convolve(args, s, block * kBlock, width);
    }
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::short_conv::cpu_any
