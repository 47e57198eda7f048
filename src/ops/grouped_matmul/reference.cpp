// Plain loops, sums in double.
#include "ops/elements.hpp"
#include "ops/grouped_matmul/grouped_matmul.hpp"

namespace redline::ops::grouped_matmul {

void reference(const Args& args) {
  const std::int64_t rows = args.experts.shape[0], choices = args.experts.shape[1];
  const bool shared = args.x.shape[0] == rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < choices; ++c) {
      const auto expert = static_cast<std::int64_t>(load(args.experts, {r, c}));
      const std::int64_t x_row = shared ? r : r * choices + c;
      for (std::int64_t n = 0; n < args.weight->out; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < args.weight->in; ++k)
          sum += load(args.x, {x_row, k}) * element(*args.weight, expert, n, k);
        store(args.y, {r * choices + c, n}, sum);
      }
    }
  }
}

}  // namespace redline::ops::grouped_matmul
