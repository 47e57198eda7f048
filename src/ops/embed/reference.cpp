// Element by element.
#include "core/error.hpp"
#include "ops/elements.hpp"
#include "ops/embed/embed.hpp"

namespace redline::ops::embed {

void reference(const Args& args) {
  for (std::int64_t r = 0; r < args.y.shape[0]; ++r) {
    const std::int64_t token = load_int(args.tokens, r);
    ensure(token >= 0 && token < args.table.shape[0], "row {} asks for entry {} of a table of {}", r, token,
           args.table.shape[0]);
    for (std::int64_t k = 0; k < args.y.shape[1]; ++k) store(args.y, {r, k}, load(args.table, {token, k}));
  }
}

}  // namespace redline::ops::embed
