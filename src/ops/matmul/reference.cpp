// Plain loops, sums in double: the truth that candidates are judged by.
#include "ops/elements.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::ops::matmul {

void reference(const Args& args) {
  std::vector<double> row(static_cast<std::size_t>(args.weight->in));
  for (std::int64_t n = 0; n < args.weight->out; ++n) {
    for (std::int64_t k = 0; k < args.weight->in; ++k)
      row[static_cast<std::size_t>(k)] = element(*args.weight, 0, n, k);
    for (std::int64_t r = 0; r < args.x.shape[0]; ++r) {
      double sum = 0;
      for (std::int64_t k = 0; k < args.weight->in; ++k)
        sum += load(args.x, {r, k}) * row[static_cast<std::size_t>(k)];
      store(args.y, {r, n}, sum);
    }
  }
}

}  // namespace redline::ops::matmul
