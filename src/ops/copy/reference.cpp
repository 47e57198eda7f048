// Byte by byte.
#include "core/error.hpp"
#include "ops/copy/copy.hpp"
#include "ops/elements.hpp"

namespace redline::ops::copy {

void reference(const Args& args) {
  for (std::int64_t i = 0; i < args.from_index.shape[0]; ++i) {
    const std::int64_t source = load_int(args.from_index, i), target = load_int(args.to_index, i);
    ensure(source >= 0 && source < args.from.shape[0] && target >= 0 && target < args.to.shape[0],
           "copy {}: from slot {} of {} to slot {} of {}", i, source, args.from.shape[0], target,
           args.to.shape[0]);
    for (std::int64_t b = 0; b < args.from.shape[1]; ++b)
      store(args.to, {target, b}, load(args.from, {source, b}));
  }
}

}  // namespace redline::ops::copy
