// Runs a candidate on a case and holds it against the operator's reference: outputs start as NaN patterns
// with guard bytes around them, the candidate runs twice and must give the same bits, and every element must
// lie within the operator's derived tolerance. Tests walk every candidate and case through this; the tuner
// calls it before it times anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"
#include "ops/candidate.hpp"
#include "ops/choice.hpp"
#include "ops/elements.hpp"
#include "ops/matmul/packed_weight.hpp"
#include "ops/problem.hpp"

namespace redline::ops {

// Host memory of one case, filled from a seed: two builders with the same seed hold the same inputs.
class CaseBuilder {
 public:
  // For the reference, floating-point outputs are F32 whatever the case asks for, so that only the candidate
  // rounds.
  enum class For : std::uint8_t { Candidate, Reference };
  CaseBuilder(std::uint64_t seed, For whom);
  ~CaseBuilder();
  CaseBuilder(const CaseBuilder&) = delete;
  CaseBuilder& operator=(const CaseBuilder&) = delete;

  TensorView normal(DType dtype, const Shape& shape, double deviation = 1, double mean = 0);  // input
  TensorView integers(const std::vector<std::int32_t>& values);  // input, I32 [n]
  TensorView integers(const Shape& shape, const std::vector<std::int32_t>& values);
  TensorView random_integers(const Shape& shape, std::int32_t below);  // input, I32, [0, below)
  TensorView zeros(DType dtype, const Shape& shape);                   // input
  TensorView output(DType dtype, const Shape& shape);  // NaN patterns; every element must be written
  TensorView normal_in_out(DType dtype, const Shape& shape, double deviation = 1);  // compared too
  // State that is opaque bytes: `floats` says how to compare it (a view of the same memory).
  TensorView bytes_in_out(const Shape& shape);  // zeroed U8, compared as F32 words
  // The same with first contents, the bytes of `first`; compared as elements of type `compared` (U8: equal
  // bytes).
  TensorView bytes_in_out(const Shape& shape, const TensorView& first, DType compared);
  const PackedWeight& weight(const quant::Scheme& scheme, std::int64_t matrices, std::int64_t out,
                             std::int64_t in, int parts_per_matrix = 1);
  std::uint32_t random();  // for shapes of index lists and the like

  std::span<const TensorView> outputs() const { return outputs_; }
  void poison_outputs();  // output() ones become NaN patterns again; in-out ones their first value
  std::string broken_guards() const;  // empty: all guard bytes stand

 private:
  struct Block;
  TensorView make(DType dtype, const Shape& shape);
  DType output_type(DType dtype) const;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<PackedWeight>> weights_;
  std::vector<TensorView> outputs_;
  std::uint64_t seed_;
  For whom_;
  std::uint64_t drawn_ = 0;
};

template <class Args>
struct Case {
  std::string name;   // "rows=17 in=320 NVFP4"
  bool quick = true;  // enough for the tuner to trust a candidate before it times it; tests run every case
  std::function<Args(CaseBuilder&)> make;
};

struct Conformity {
  bool accepted = true;  // false: the candidate refused, `detail` says why
  bool correct = true;
  std::string detail;  // worst element: index, both values, bound
};

// What a candidate takes from `scratch` next holds NaN patterns: reading what it has not written shows.
void poison_scratch(Exec& exec, std::size_t bytes);

// Compares outputs element by element; NaN anywhere is a failure.
std::string worst_difference(std::span<const TensorView> found, std::span<const TensorView> expected,
                             const Tolerance& tolerance);

template <class Args>
Conformity check_conformance(Exec& exec, const Candidate<Args>& candidate, int variant, const Case<Args>& one,
                             void (*reference)(const Args&), Tolerance (*tolerance)(const Args&),
                             std::uint64_t seed) {
  CaseBuilder ours(seed, CaseBuilder::For::Candidate), theirs(seed, CaseBuilder::For::Reference);
  const Args args = one.make(ours);
  const Args expected = one.make(theirs);
  if (const Verdict verdict = candidate.supports(exec.device.info(), args); !verdict)
    return {false, true, verdict.no};
  const Tolerance bound = tolerance(args);  // before the run: in-out tensors still hold their inputs
  reference(expected);

  std::vector<std::vector<std::byte>> first;
  for (int round = 0; round < 2; ++round) {
    ours.poison_outputs();
    {
      const std::size_t declared =
          candidate.scratch_bytes == nullptr ? 0 : candidate.scratch_bytes(args, variant);
      poison_scratch(exec, declared);
      const Arena::Scope scope(exec.scratch);
      candidate.run(exec, args, variant);
      exec.device.wait(exec.stream);
    }
    if (std::string guards = ours.broken_guards(); !guards.empty()) return {true, false, guards};
    if (std::string worst = worst_difference(ours.outputs(), theirs.outputs(), bound); !worst.empty())
      return {true, false, worst};
    std::vector<std::vector<std::byte>> bits;
    for (const TensorView& view : ours.outputs()) {
      const auto* data = static_cast<const std::byte*>(view.data);
      bits.emplace_back(data, data + view.shape.elements() * bits_of(view.dtype) / 8);
    }
    if (round == 1 && bits != first) return {true, false, "two runs gave different bits"};
    first = std::move(bits);
  }
  return {};
}

}  // namespace redline::ops
