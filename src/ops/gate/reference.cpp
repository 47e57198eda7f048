// Element by element.
#include <cmath>

#include "ops/elements.hpp"
#include "ops/gate/gate.hpp"

namespace redline::ops::gate {

void reference(const Args& args) {
  for_each_index(args.y.shape, [&](const Index& index) {
    const double a = load(args.a, index), sigmoid = 1 / (1 + std::exp(-a));
    store(args.y, index, (args.kind == Kind::SiluMul ? a * sigmoid : sigmoid) * load(args.b, index));
  });
}

}  // namespace redline::ops::gate
