// Picks a candidate and calls it; what a problem is, and how exact an answer must be.
#include "ops/short_conv/short_conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/dispatch.hpp"
#include "ops/elements.hpp"

namespace redline::ops::short_conv {
namespace {

std::int64_t bytes(const Args& args) {
  const std::int64_t rows = args.u.shape[0], channels = args.u.shape[1];
  const std::int64_t state_rows = args.ring.slots.shape[0] * (kTaps - 1);
  return channels *
         ((rows + state_rows) * bits_of(args.u.dtype) + rows * bits_of(args.y.dtype) +
          kTaps * bits_of(args.weight.dtype)) /
         8;
}

double largest(const TensorView& view) {
  double most = 0;
  for_each_index(view.shape, [&](const Index& index) { most = std::max(most, std::abs(load(view, index))); });
  return most;
}

}  // namespace

std::size_t slot_bytes(std::int64_t channels, DType dtype) {
  return static_cast<std::size_t>((kTaps - 1 + kRingRows) * channels * bits_of(dtype) / 8);
}

void run(Exec& exec, const Args& args) {
  dispatch(exec, Operation<Args>{"short_conv", candidates(), reference, bytes}, args);
}

ProblemKey key(const Args& args) {
  return {fmt::format("rows={} sequences={} channels={}", row_bucket(args.u.shape[0]),
                      row_bucket(args.ring.slots.shape[0]), args.u.shape[1])};
}

// Four products and their sum in fp32 are off by at most 4 · 2^-24 · Σ|w·u|, and silu has a slope of at
// most 1.1. Its own exponential, sum and quotient are off by a few units of 2^-24 of the result; y is rounded
// once.
Tolerance tolerance(const Args& args) {
  TensorView state =
      dense_view(args.state.data, args.u.dtype, {args.state.shape.elements() * 8 / bits_of(args.u.dtype)});
  const double sum = kTaps * largest(args.weight) * std::max(largest(args.u), largest(state));
  return {.absolute = 1.1 * (kTaps + 1) * 0x1p-24 * sum,
          .relative = rounding_of(args.y.dtype) + 16 * 0x1p-24};
}

}  // namespace redline::ops::short_conv
