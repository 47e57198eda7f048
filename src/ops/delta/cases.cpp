// Value heads per key head 1 to 8, prompts around chunk borders, rings that are empty, part full, exactly
// filled and over, alone and mixed.
#include <fmt/format.h>

#include <cmath>

#include "ops/delta/delta.hpp"
#include "ops/ring_cases.hpp"

namespace redline::ops::delta {
namespace {

// A state that rows could have left behind: keys of length one, decays that fall.
TensorView used_slots(CaseBuilder& build, std::int64_t slots, int key_heads, int value_heads, int key_dim,
                      int value_dim) {
  const SlotLayout layout = slot_layout(key_heads, value_heads, key_dim, value_dim);
  const TensorView view = build.normal(DType::F32, {slots, layout.end}, 0.1);
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    float* floats = static_cast<float*>(view.data) + slot * layout.end;
    for (std::int64_t j = 0; j < std::int64_t{kRingRows} * key_heads; ++j) {
      float* k = floats + layout.keys + j * key_dim;
      double squares = 0;
      for (int i = 0; i < key_dim; ++i) squares += static_cast<double>(k[i]) * static_cast<double>(k[i]);
      for (int i = 0; i < key_dim; ++i)
        k[i] = static_cast<float>(static_cast<double>(k[i]) / std::sqrt(squares));
    }
    for (std::int64_t j = 0; j < kRingRows; ++j) {
      for (std::int64_t h = 0; h < value_heads; ++h) {
        float* sums = floats + layout.decays + h;
        sums[j * value_heads] =
            (j > 0 ? sums[(j - 1) * value_heads] : 0.0f) - 3 * std::abs(sums[j * value_heads]);
      }
    }
  }
  return view;
}

}  // namespace

std::vector<Case<Args>> cases() {
  struct Problem {
    int key_heads, value_heads, key_dim, value_dim;
    std::vector<RingSequence> sequences;
    double deviation = 0.5;   // of q, k and v
    double decay_mean = 0.5;  // of A_log
    DType parameters = DType::BF16;
    bool quick = true;
  };
  const std::vector<Problem> problems = {
      {1, 1, 128, 128, {{1, 0, 1}}},
      {1, 2, 128, 128, {{1, 5, 1}, {1, 16, 1}}, 0.5, 0.5, DType::F32},
      {1, 3, 128, 128, {{4, 12, 1}, {4, 13, 1}}},
      {1, 4, 128, 128, {{1, 3, 0}, {3, 0, 0}}},
      {1, 8, 128, 128, {{4, 2, 0}}},
      {1, 1, 128, 128, {{63, 0, 0}, {64, 16, 0}, {65, 1, 0}}},
      {2, 4, 64, 32, {{3, 1, 1}, {5, 2, 0}, {70, 0, 0}, {0, 7, 0}, {0, 7, 1}, {16, 9, 1}}},
      {1, 1, 128, 128, {{20, 2, 0}, {2, 2, 1}}, 1e-4},      // so small that epsilon counts
      {1, 1, 128, 128, {{66, 0, 0}, {3, 1, 1}}, 0.5, -6},   // hardly any decay
      {1, 1, 128, 128, {{66, 0, 0}, {3, 1, 1}}, 0.5, 3.5},  // hardly any memory
      {2, 6, 128, 128, {{200, 4, 0}, {1, 0, 1}}, 0.5, 0.5, DType::F32, false},
      {2, 16, 128, 128, {{65, 0, 0}, {8, 9, 1}, {1, 16, 1}}, 0.5, 0.5, DType::BF16, false},
      {16, 16, 128, 128, {{1, 3, 1}, {1, 15, 1}, {1, 16, 1}}, 0.5, 0.5, DType::BF16, false},
  };
  std::vector<Case<Args>> all;
  all.reserve(std::size(problems));
  for (const Problem& p : problems) {
    all.push_back({fmt::format("heads={}/{} dims={}/{} deviation={} decay={} {}", p.key_heads, p.value_heads,
                               p.key_dim, p.value_dim, p.deviation, p.decay_mean, to_text(p.sequences)),
                   p.quick, [p](CaseBuilder& build) {
                     const std::int64_t rows = row_count(p.sequences), slots = slot_count(p.sequences);
                     const std::int64_t width = 2 * p.key_heads * p.key_dim + p.value_heads * p.value_dim;
                     const TensorView first =
                         used_slots(build, slots, p.key_heads, p.value_heads, p.key_dim, p.value_dim);
                     return Args{.key_heads = p.key_heads,
                                 .value_heads = p.value_heads,
                                 .key_dim = p.key_dim,
                                 .value_dim = p.value_dim,
                                 .qkv = build.normal(DType::BF16, {rows, width}, p.deviation),
                                 .a = build.normal(DType::BF16, {rows, p.value_heads}),
                                 .b = build.normal(DType::BF16, {rows, p.value_heads}),
                                 .decay_log = build.normal(p.parameters, {p.value_heads}, 0.5, p.decay_mean),
                                 .time_bias = build.normal(p.parameters, {p.value_heads}, 1, -1),
                                 .state = build.bytes_in_out({slots, 4 * first.shape[1]}, first, DType::F32),
                                 .ring = make_ring(build, p.sequences),
                                 .y = build.output(DType::BF16, {rows, p.value_heads, p.value_dim})};
                   }});
  }
  return all;
}

}  // namespace redline::ops::delta
