// The dense feed-forward block: down(silu(gate(x)) · up(x)).
#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/gate/gate.hpp"
#include "ops/matmul/matmul.hpp"

namespace redline::model::qwen3_5 {

void Qwen3_5::mlp_block(ops::Exec& exec, const MlpWeights& weights, const TensorView& x,
                        const TensorView& y) const {
  const TensorView gate_up = project(exec, x, weights.gate_up);
  const TensorView gated = take(exec, {x.shape[0], weights.down.in});
  ops::gate::run(exec, {.kind = ops::gate::Kind::SiluMul,
                        .a = columns(gate_up, 0, weights.down.in),
                        .b = columns(gate_up, weights.down.in, weights.down.in),
                        .y = gated});
  ops::matmul::run(exec, {.x = gated, .weight = &weights.down, .y = y});
}

}  // namespace redline::model::qwen3_5
