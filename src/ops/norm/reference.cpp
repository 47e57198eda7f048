// The formula, element by element.
#include <cmath>

#include "ops/elements.hpp"
#include "ops/norm/norm.hpp"

namespace redline::ops::norm {

void reference(const Args& args) {
  const std::int64_t rows = args.x.shape[0], groups = args.x.shape[1], width = args.x.shape[2];
  std::vector<double> row(static_cast<std::size_t>(width));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t g = 0; g < groups; ++g) {
      double squares = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        double& value = row[static_cast<std::size_t>(k)];
        value = load(args.x, {r, g, k});
        if (args.residual.shape.dims > 0) {
          value += load(args.residual, {r, g, k});
          store(args.residual, {r, g, k}, value);
        }
        squares += value * value;
      }
      const double scale =
          1 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(args.epsilon));
      for (std::int64_t k = 0; k < width; ++k) {
        const double weight = load(args.weight, {k});
        double y = row[static_cast<std::size_t>(k)] * scale * (args.zero_centred ? 1 + weight : weight);
        if (args.gate.shape.dims > 0) {
          const double gate = load(args.gate, {r, g, k});
          y *= gate / (1 + std::exp(-gate));
        }
        store(args.y, {r, g, k}, y);
      }
    }
  }
}

}  // namespace redline::ops::norm
