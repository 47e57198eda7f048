// All inputs of a sequence one after another, the kept ones first, then the formula as it stands.
#include <cmath>
#include <vector>

#include "core/error.hpp"
#include "ops/elements.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops::short_conv {

void reference(const Args& args) {
  constexpr std::int64_t kKept = kTaps - 1;
  const std::int64_t channels = args.u.shape[1];
  for (std::int64_t s = 0; s < args.ring.slots.shape[0]; ++s) {
    const std::int32_t slot = load_int(args.ring.slots, s), count = load_int(args.ring.counts, slot);
    const std::int64_t begin = load_int(args.ring.row_begin, s),
                       rows = load_int(args.ring.row_begin, s + 1) - begin;
    const bool into_ring = load_int(args.ring.into_ring, s) != 0;
    ensure(!into_ring || rows <= kRingRows, "{} rows for a ring of {}", rows, kRingRows);
    const TensorView state =
        dense_view(static_cast<std::byte*>(args.state.data) + slot * args.state.strides[0], args.u.dtype,
                   {kKept + kRingRows, channels});
    for (std::int64_t c = 0; c < channels; ++c) {
      std::vector<double> inputs;
      for (std::int64_t i = 0; i < kKept + count; ++i) inputs.push_back(load(state, {i, c}));
      const std::vector<double> before = inputs;
      for (std::int64_t i = 0; i < rows; ++i) {
        inputs.push_back(load(args.u, {begin + i, c}));
        double sum = 0;
        for (std::int64_t j = 0; j < kTaps; ++j)
          sum += load(args.weight, {c, j}) * inputs[inputs.size() - kTaps + static_cast<std::size_t>(j)];
        store(args.y, {begin + i, c}, sum / (1 + std::exp(-sum)));
      }
      const auto keep_last = [&](const std::vector<double>& list) {
        for (std::int64_t i = 0; i < kKept; ++i)
          store(state, {i, c}, list[list.size() - kKept + static_cast<std::size_t>(i)]);
      };
      if (!into_ring) {
        keep_last(inputs);
        continue;
      }
      const bool fold = count + rows > kRingRows;
      if (fold) keep_last(before);
      for (std::int64_t i = 0; i < rows; ++i)
        store(state, {kKept + (fold ? 0 : count) + i, c}, load(args.u, {begin + i, c}));
    }
  }
}

}  // namespace redline::ops::short_conv
