// Both directions copy the up to four scales of a row that are neighbours in either order.
#include "quant/scale_order.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace redline::quant {
namespace {

void check(const ScaleOrderArgs& args, std::size_t plain, std::size_t tiled) {
  ensure(args.rows >= 0 && args.groups >= 0, "scales of [{}, {}]: sizes must not be negative", args.rows,
         args.groups);
  ensure(plain == static_cast<std::size_t>(args.rows * args.groups), "{} plain scales, expected [{}, {}]",
         plain, args.rows, args.groups);
  const std::int64_t bytes = tiled_scale_bytes(args.rows, args.groups);
  ensure(tiled == static_cast<std::size_t>(bytes), "{} bytes of tiled scales, expected {}", tiled, bytes);
}

// (offset in plain order, offset in tiled order, how many neighbours) for each part of a row that lies in one
// tile.
template <class Visit>
void for_each_part(const ScaleOrderArgs& args, Visit visit) {
  for (std::int64_t row = 0; row < args.rows; ++row) {
    for (std::int64_t group = 0; group < args.groups; group += kScaleTileGroups) {
      visit(row * args.groups + group, tiled_scale_offset(row, group, args.groups),
            std::min(kScaleTileGroups, args.groups - group));
    }
  }
}

}  // namespace

void to_tiled_scales(const ScaleOrderArgs& args) {
  check(args, args.from.size(), args.to.size());
  std::fill(args.to.begin(), args.to.end(), std::uint8_t{0});
  for_each_part(args, [&](std::int64_t plain, std::int64_t tiled, std::int64_t count) {
    std::copy_n(args.from.data() + plain, count, args.to.data() + tiled);
  });
}

void from_tiled_scales(const ScaleOrderArgs& args) {
  check(args, args.to.size(), args.from.size());
  for_each_part(args, [&](std::int64_t plain, std::int64_t tiled, std::int64_t count) {
    std::copy_n(args.from.data() + tiled, count, args.to.data() + plain);
  });
}

}  // namespace redline::quant
