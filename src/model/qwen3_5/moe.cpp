// The mixture-of-experts block: router, the chosen experts of each row, the shared expert behind its own
// gate, and their sum.
#include "model/qwen3_5/qwen3_5.hpp"
#include "ops/combine/combine.hpp"
#include "ops/gate/gate.hpp"
#include "ops/grouped_matmul/grouped_matmul.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/route/route.hpp"

namespace redline::model::qwen3_5 {

void Qwen3_5::moe_block(ops::Exec& exec, const MoeWeights& weights, const TensorView& x,
                        const TensorView& y) const {
  const std::int64_t rows = x.shape[0], width = weights.down.in;
  const TensorView logits = exec.scratch.take(
      DType::F32, {rows, weights.router.out});  // unrounded: a flip of the choice is worse than 2 bytes
  ops::matmul::run(exec, {.x = x, .weight = &weights.router, .y = logits});
  const TensorView experts = exec.scratch.take(DType::I32, {rows, weights.chosen});
  const TensorView shares = exec.scratch.take(DType::F32, {rows, weights.chosen});
  ops::route::run(exec, {.logits = logits, .experts = experts, .weights = shares});

  const TensorView gate_up = take(exec, {rows * weights.chosen, weights.gate_up.out});
  ops::grouped_matmul::run(exec, {.x = x, .experts = experts, .weight = &weights.gate_up, .y = gate_up});
  const TensorView gated = take(exec, {rows * weights.chosen, width});
  ops::gate::run(exec, {.kind = ops::gate::Kind::SiluMul,
                        .a = columns(gate_up, 0, width),
                        .b = columns(gate_up, width, width),
                        .y = gated});
  const TensorView routed = take(exec, {rows * weights.chosen, info_.hidden});
  ops::grouped_matmul::run(exec, {.x = gated, .experts = experts, .weight = &weights.down, .y = routed});

  const TensorView shared = take(exec, {rows, info_.hidden});
  mlp_block(exec, weights.shared, x, shared);
  const TensorView shared_gate = project(exec, x, weights.shared_gate);
  ops::combine::run(
      exec, {.routed = routed, .weights = shares, .shared = shared, .shared_gate = shared_gate, .y = y});
}

}  // namespace redline::model::qwen3_5
