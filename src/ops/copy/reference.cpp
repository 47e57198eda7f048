// Byte by byte.
#include "ops/copy/copy.hpp"
#include "ops/elements.hpp"

namespace redline::ops::copy {

void reference(const Args& args) {
  for (std::int64_t i = 0; i < args.from_index.shape[0]; ++i) {
    for (std::int64_t b = 0; b < args.from.shape[1]; ++b) store(args.to, {load_int(args.to_index, i), b}, load(args.from, {load_int(args.from_index, i), b}));
  }
}

}  // namespace redline::ops::copy
