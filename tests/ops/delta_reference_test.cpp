// The reference of the delta rule against the recurrence of the reference library, in all ways that rows can
// come; and chunks and rings against single rows.
//
// The numbers were made by:
// import torch
// from torch.nn.functional import softplus
// from transformers.models.qwen3_5.modeling_qwen3_5 import torch_recurrent_gated_delta_rule as rule
// rows, key_heads, value_heads, dim = 5, 2, 4, 4
// t = torch.arange(rows).view(1, -1, 1)
// qkv = torch.sin(1.3 * t + 0.9 * torch.arange(32) + 0.2)
// h = torch.arange(value_heads)
// a, b = torch.cos(t + 1.0 * h), torch.sin(2 * t - 1.0 * h)
// decay_log, time_bias = 0.3 - 0.5 * h, 0.1 - 0.4 * h
// q, k, v = (x.view(1, rows, -1, dim) for x in qkv.split([8, 8, 16], dim=2))
// state = 0.1 * torch.cos(h.view(-1, 1, 1) + 2.0 * torch.arange(dim).view(-1, 1) + 3.0 * torch.arange(dim))
// o, last = rule(q, k, v, -decay_log.exp() * softplus(a + time_bias), b.sigmoid(),
//                initial_state=state[None], output_final_state=True, use_qk_l2norm_in_kernel=True)
// print(', '.join(f'{x:.6f}f' for x in o.flatten().tolist()))
// print(', '.join(f'{x:.6f}f' for x in last.flatten().tolist()))
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "device/cpu/cpu_device.hpp"
#include "ops/delta/delta.hpp"
#include "ops/elements.hpp"
#include "ops/ring_cases.hpp"

namespace redline::ops {
namespace {

constexpr float kOutputs[] = {
    0.120282f,  0.031323f,  -0.090746f, -0.134608f, -0.054286f, 0.025923f,  0.069167f,  0.081019f,
    0.021165f,  -0.065289f, -0.082025f, -0.064168f, 0.024670f,  0.147357f,  0.118353f,  0.033992f,
    -0.007177f, -0.207881f, -0.251691f, -0.104765f, 0.090555f,  0.265206f,  0.222408f,  0.027148f,
    -0.107516f, -0.231499f, -0.130985f, 0.018193f,  0.152772f,  0.231603f,  0.158224f,  -0.063740f,
    -0.113278f, -0.192803f, -0.126019f, 0.035714f,  0.280086f,  0.293002f,  0.084051f,  -0.189391f,
    -0.291319f, -0.154628f, 0.113849f,  0.283874f,  0.185931f,  -0.017456f, -0.173094f, -0.232435f,
    -0.139802f, 0.020223f,  0.165143f,  0.184913f,  0.151696f,  -0.070657f, -0.233752f, -0.225622f,
    -0.088480f, 0.185438f,  0.308900f,  0.209210f,  -0.101654f, -0.339128f, -0.317985f, -0.056934f,
    0.131224f,  0.266857f,  0.200540f,  -0.017533f, -0.206895f, -0.260682f, -0.115277f, 0.115714f,
    0.201833f,  0.211853f,  0.053178f,  -0.138011f, -0.286546f, -0.226957f, -0.008679f, 0.229641f};
constexpr float kLastState[] = {
    0.098455f,  -0.062092f, -0.173901f, -0.155699f, 0.429028f,  0.401469f,  0.069881f,  -0.314589f,
    0.435435f,  0.560856f,  0.260959f,  -0.235410f, 0.113119f,  0.294869f,  0.255583f,  0.020803f,
    -0.027078f, 0.128575f,  0.225247f,  0.110360f,  -0.476984f, -0.236494f, 0.153413f,  0.454492f,
    -0.538777f, -0.448912f, -0.009542f, 0.431540f,  -0.200611f, -0.317613f, -0.165397f, 0.078258f,
    -0.156718f, 0.130219f,  0.324268f,  0.249246f,  -0.461893f, -0.107449f, 0.256724f,  0.504159f,
    -0.367778f, -0.321169f, 0.058746f,  0.308482f,  -0.068399f, -0.222502f, -0.247904f, -0.062840f,
    -0.149468f, -0.341034f, -0.435204f, -0.058165f, 0.277110f,  -0.133686f, -0.434859f, -0.396152f,
    0.459772f,  0.192378f,  -0.105955f, -0.450827f, 0.203582f,  0.474029f,  0.193714f,  -0.048849f};

// The maker's sequence: five rows, two key heads, four value heads, four wide.
struct Sequence {
  static constexpr std::int64_t kRows = 5, kHeads = 4, kDim = 4, kWidth = 32;
  std::vector<float> qkv, a, b, decay_log, time_bias, slot,
      y = std::vector<float>(kRows * kHeads * kDim, NAN);
  std::int32_t count = 0;

  Sequence() {
    for (int t = 0; t < kRows; ++t) {
      for (int i = 0; i < kWidth; ++i) qkv.push_back(static_cast<float>(std::sin(1.3 * t + 0.9 * i + 0.2)));
      for (int h = 0; h < kHeads; ++h) {
        a.push_back(static_cast<float>(std::cos(t + h)));
        b.push_back(static_cast<float>(std::sin(2 * t - h)));
      }
    }
    for (int h = 0; h < kHeads; ++h) {
      decay_log.push_back(static_cast<float>(0.3 - 0.5 * h));
      time_bias.push_back(static_cast<float>(0.1 - 0.4 * h));
    }
    slot.assign(delta::slot_bytes(2, kHeads, kDim, kDim) / sizeof(float), 0.0f);
    for (int h = 0; h < kHeads; ++h) {
      for (int i = 0; i < kDim; ++i) {
        for (int c = 0; c < kDim; ++c)
          slot[static_cast<std::size_t>((h * kDim + i) * kDim + c)] =
              static_cast<float>(0.1 * std::cos(h + 2.0 * i + 3.0 * c));
      }
    }
  }

  void step(std::int64_t first, std::int64_t rows, std::int32_t into_ring) {
    std::int32_t slots[] = {0}, row_begin[] = {0, static_cast<std::int32_t>(rows)};
    const auto part = [&](std::vector<float>& values, std::int64_t width) {
      return dense_view(values.data() + first * width, DType::F32, {rows, width});
    };
    delta::reference({.key_heads = 2,
                      .value_heads = kHeads,
                      .key_dim = kDim,
                      .value_dim = kDim,
                      .qkv = part(qkv, kWidth),
                      .a = part(a, kHeads),
                      .b = part(b, kHeads),
                      .decay_log = dense_view(decay_log.data(), DType::F32, {kHeads}),
                      .time_bias = dense_view(time_bias.data(), DType::F32, {kHeads}),
                      .state = dense_view(slot.data(), DType::U8,
                                          {1, static_cast<std::int64_t>(slot.size() * sizeof(float))}),
                      .ring = {.slots = dense_view(slots, DType::I32, {1}),
                               .row_begin = dense_view(row_begin, DType::I32, {2}),
                               .counts = dense_view(&count, DType::I32, {1}),
                               .into_ring = dense_view(&into_ring, DType::I32, {1})},
                      .y = dense_view(y.data() + first * kHeads * kDim, DType::F32, {rows, kHeads, kDim})});
  }
  void decode(std::int64_t first, int rows, int accepted) {
    step(first, rows, 1);
    count = ring_count_after(count, rows, accepted);
  }
  void prompt(std::int64_t first, std::int64_t rows) {
    step(first, rows, 0);
    count = 0;
  }
  void expect_outputs() const {
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], kOutputs[i], 2e-6) << i;
  }
  void expect_state() const {
    for (std::size_t i = 0; i < std::size(kLastState); ++i) EXPECT_NEAR(slot[i], kLastState[i], 2e-6) << i;
  }
};

TEST(DeltaReference, Prompt) {
  Sequence sequence;
  sequence.prompt(0, 5);
  sequence.expect_outputs();
  sequence.expect_state();
}

TEST(DeltaReference, PromptInTwoParts) {
  Sequence sequence;
  sequence.prompt(0, 2);
  sequence.prompt(2, 3);
  sequence.expect_outputs();
  sequence.expect_state();
}

TEST(DeltaReference, DecodeThenFold) {
  Sequence sequence;
  const std::vector<float> before = sequence.slot;
  for (int t = 0; t < 5; ++t) sequence.decode(t, 1, 1);
  sequence.expect_outputs();
  const std::size_t state = std::size(kLastState);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(state),
                         sequence.slot.begin()));  // only the ring was written
  sequence.prompt(5, 0);                           // no rows: the ring is folded
  sequence.expect_state();
}

TEST(DeltaReference, RejectedRowsLeaveNoTrace) {
  Sequence sequence;
  sequence.prompt(0, 1);
  sequence.decode(2, 3, 0);  // wrong rows, none kept
  sequence.decode(1, 4, 2);  // the last two are taken back
  sequence.decode(3, 1, 1);
  sequence.prompt(4, 1);
  sequence.expect_outputs();
  sequence.expect_state();
}

TEST(DeltaReference, FullRingIsFoldedFirst) {
  Sequence full;
  full.decode(0, 2, 2);
  // Rows with beta 0 and no decay change nothing: fourteen of them fill the ring.
  const std::vector<float> b = full.b, a = full.a;
  for (int i = 0; i < 14; ++i) {
    full.b.assign(full.b.size(), -INFINITY);
    full.a.assign(full.a.size(), -INFINITY);
    full.decode(2, 1, 1);
  }
  EXPECT_EQ(full.count, kRingRows);
  full.a = a;
  full.b = b;
  full.decode(2, 3, 3);
  EXPECT_EQ(full.count, 3);
  full.expect_outputs();
  full.prompt(5, 0);
  full.expect_state();
}

TEST(DeltaReference, OneRowInClosedForm) {
  // From an empty state S = beta k vT and o = beta (k·q) v. With k = q, |k| = 1 up to epsilon and beta = 1/2,
  // o = v / (2 sqrt(4)) = v / 4.
  Sequence sequence;
  sequence.slot.assign(sequence.slot.size(), 0.0f);
  for (std::size_t i = 0; i < 8; ++i) sequence.qkv[8 + i] = sequence.qkv[i];
  sequence.b.assign(sequence.b.size(), 0.0f);
  sequence.prompt(0, 1);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(sequence.y[i], sequence.qkv[16 + i] / 4, 1e-6);
}

TEST(DeltaReference, SlotHoldsAStateAndARing) {
  EXPECT_EQ(delta::slot_bytes(16, 32, 128, 128), 4u * (32 * 128 * 128 + 16 * (16 * 128 + 32 * 128 + 32)));
}

// A prompt at once, in chunks where the candidate has any, against the same rows decoded one by one through
// the ring. Both are within the tolerance of the truth, so within twice that of each other.
TEST(DeltaChunks, EqualSingleRows) {
  CpuDevice device(2);
  Arena scratch(device, std::size_t{1} << 20, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  for (const Entry<delta::Args>& entry : delta::candidates()) {
    for (const int rows : {1, 3, 4, 63, 64, 65, 200}) {
      CaseBuilder build(11, CaseBuilder::For::Candidate);
      const delta::SlotLayout layout_of_two = delta::slot_layout(1, 2, 128, 128);
      const TensorView first = build.normal(DType::F32, {1, layout_of_two.end}, 0.1);
      const Shape slot{1, 4 * layout_of_two.end};
      std::int32_t slots[] = {0}, row_begin[] = {0, rows}, count = 0, into_ring = 0;
      delta::Args all{.key_heads = 1,
                      .value_heads = 2,
                      .key_dim = 128,
                      .value_dim = 128,
                      .qkv = build.normal(DType::BF16, {rows, 512}, 0.5),
                      .a = build.normal(DType::BF16, {rows, 2}),
                      .b = build.normal(DType::BF16, {rows, 2}),
                      .decay_log = build.normal(DType::BF16, {2}, 0.5),
                      .time_bias = build.normal(DType::BF16, {2}, 1, -1.5),
                      .state = build.bytes_in_out(slot, first, DType::F32),
                      .ring = {.slots = dense_view(slots, DType::I32, {1}),
                               .row_begin = dense_view(row_begin, DType::I32, {2}),
                               .counts = dense_view(&count, DType::I32, {1}),
                               .into_ring = dense_view(&into_ring, DType::I32, {1})},
                      .y = build.output(DType::BF16, {rows, 2, 128})};
      delta::Args one = all;
      one.state = build.bytes_in_out(slot, first, DType::F32);
      one.y = build.output(DType::BF16, {rows, 2, 128});
      const TensorView single_y = one.y;
      const Tolerance bound = delta::tolerance(all);
      const Tolerance twice{2 * bound.absolute, 2 * bound.relative};
      entry.candidate.run(exec, all, 0);

      into_ring = 1;
      row_begin[1] = 1;
      const auto rows_from = [](const TensorView& view, int row) {
        TensorView part = view;
        part.data = static_cast<std::byte*>(view.data) + row * view.strides[0] * bits_of(view.dtype) / 8;
        part.shape.sizes[0] = 1;
        return part;
      };
      for (int row = 0; row < rows; ++row) {
        one.qkv = rows_from(all.qkv, row);
        one.a = rows_from(all.a, row);
        one.b = rows_from(all.b, row);
        one.y = rows_from(single_y, row);
        entry.candidate.run(exec, one, 0);
        count = ring_count_after(count, 1, 1);
      }
      into_ring = 0;
      row_begin[1] = 0;
      one.y.shape.sizes[0] = 0;
      entry.candidate.run(exec, one, 0);
      const TensorView found[] = {all.y, dense_view(all.state.data, DType::F32, {layout_of_two.keys})};
      const TensorView expected[] = {single_y, dense_view(one.state.data, DType::F32, {layout_of_two.keys})};
      EXPECT_EQ(worst_difference(found, expected, twice), "") << entry.path << " rows=" << rows;
    }
  }
}

}  // namespace
}  // namespace redline::ops
