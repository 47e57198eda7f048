// The convolution over one share of the channels, compiled once for each CPU level. A thread takes some of
// the channels, for all sequences and rows. Kept inputs and ring lie one after another in a slot, so a row's
// window is four rows of [slot rows | new rows], wherever it begins.
#pragma once

#include "core/error.hpp"
#include "ops/cpu_share.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops::short_conv {
namespace {

constexpr std::int64_t kKept = kTaps - 1;
constexpr std::int64_t kBlock = 512;  // channels whose weights are widened at once

Verdict supports_channels(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.u.dtype != DType::BF16 || args.y.dtype != DType::BF16) return {"u or y is not BF16"};
  if (!is_parameter(args.weight.dtype)) return {"weight is neither BF16 nor F32"};
  return {};
}

// weight [channels, taps] -> out [taps][channels]. One row's products take less time than this, so the usual
// form, BF16 without gaps, has a loop of its own.
void widen_taps(const TensorView& weight, std::int64_t first, std::int64_t width, float (*out)[kBlock]) {
  if (weight.dtype == DType::BF16 && weight.strides[0] == kTaps && weight.strides[1] == 1) {
    const auto* codes = static_cast<const std::uint16_t*>(weight.data) + first * kTaps;
    for (std::int64_t c = 0; c < width; ++c) {
      for (int j = 0; j < kTaps; ++j) out[j][c] = widened(codes[c * kTaps + j]);
    }
    return;
  }
  for (std::int64_t c = 0; c < width; ++c) {
    for (int j = 0; j < kTaps; ++j)
      out[j][c] = parameter(weight, (first + c) * weight.strides[0] + j * weight.strides[1]);
  }
}

// Channels [first, first + width) of one sequence.
void convolve(const Args& args, std::int64_t s, std::int64_t first, std::int64_t width) {
  float weight[kTaps][kBlock] = {};  // zeros behind a short last block of lanes
  widen_taps(args.weight, first, width, weight);
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
    const std::uint16_t* const window[kTaps] = {input(count + i), input(count + i + 1), input(count + i + 2),
                                                input(count + i + 3)};
    auto* y = static_cast<std::uint16_t*>(args.y.data) + (begin + i) * args.y.strides[0] + first;
    for_blocks(width, [&](std::int64_t at, std::int64_t some) {
      float sums[kLanes] = {};
      for (int j = 0; j < kTaps; ++j) {
        float taken[kLanes];
        load_block({const_cast<std::uint16_t*>(window[j]), true}, at, some, taken);
        for (int c = 0; c < kLanes; ++c) sums[c] += weight[j][at + c] * taken[c];
      }
      for (int c = 0; c < kLanes; ++c) sums[c] *= sigmoid_of(sums[c]);
      store_block({y, true}, at, some, sums);
    });
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

void run_channels(Exec& exec, const Args& args, int) {
  const std::int64_t channels = args.u.shape[1], blocks = (channels + kBlock - 1) / kBlock;
  share_out(exec, blocks, args.u.shape[0] * channels * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t width = channels - block * kBlock < kBlock ? channels - block * kBlock : kBlock;
      for (std::int64_t s = 0; s < args.ring.slots.shape[0]; ++s) convolve(args, s, block * kBlock, width);
    }
  });
}

}  // namespace
}  // namespace redline::ops::short_conv
