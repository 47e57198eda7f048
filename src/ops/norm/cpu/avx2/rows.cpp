// As cpu/any/loops, eight elements at a time: a row is read once into floats and written in a second pass
// from the cache.
#include "ops/cpu_share.hpp"
#include "ops/lanes_avx2.hpp"
#include "ops/norm/norm.hpp"

namespace redline::ops::norm::cpu_avx2 {
namespace {

constexpr std::int64_t kMostWidth =
    16384;  // the row's floats lie on the stack; the family's widest rows have 5120

bool fits(const TensorView& view) {
  return view.shape.dims == 0 || (is_row_type(view.dtype) && view.strides[2] == 1);
}

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (!fits(args.x) || !fits(args.y) || !fits(args.residual) || !fits(args.gate))
    return {"a tensor is neither BF16 nor F32, or its columns are strided"};
  if (!is_row_type(args.weight.dtype) || args.weight.strides[0] != 1)
    return {"the weight is neither BF16 nor F32, or strided"};
  if (args.x.shape[2] > kMostWidth) return {"rows wider than 16384"};
  return {};
}

Row group_of(const TensorView& view, std::int64_t row, std::int64_t group) {
  return view.shape.dims == 0 ? Row{} : row_at(view, row * view.strides[0] + group * view.strides[1]);
}

struct Rows {
  Row x, weight, y, residual, gate;
};

template <bool has_residual, bool has_gate>
void norm_one(const Rows& rows, std::int64_t width, float epsilon, float centre, float* row) {
  __m256 squares[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  const auto gather = [&](std::int64_t at, __m256 x) {
    _mm256_storeu_ps(row + at, x);
    __m256& sum = squares[at / kWide % 2];
    sum = _mm256_fmadd_ps(x, x, sum);
  };
  for_eights(
      width,
      [&](std::int64_t at) {
        __m256 x = load_eight(rows.x, at);
        if constexpr (has_residual) {
          x = _mm256_add_ps(x, load_eight(rows.residual, at));
          store_eight(rows.residual, at, x);
        }
        gather(at, x);
      },
      [&](std::int64_t at, std::int64_t count) {
        __m256 x = load_some(rows.x, at, count);
        if constexpr (has_residual) {
          x = _mm256_add_ps(x, load_some(rows.residual, at, count));
          store_some(rows.residual, at, count, x);
        }
        gather(at, x);
      });
  const float mean = sum_lanes(_mm256_add_ps(squares[0], squares[1])) / static_cast<float>(width);
  const __m256 scale = _mm256_div_ps(_mm256_set1_ps(1.0f), _mm256_sqrt_ps(_mm256_set1_ps(mean + epsilon)));
  const __m256 centres = _mm256_set1_ps(centre);
  const auto normed = [&](std::int64_t at, __m256 weight) {
    return _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(row + at), scale), _mm256_add_ps(centres, weight));
  };
  const auto gated = [](__m256 value, __m256 gate) {
    return _mm256_mul_ps(_mm256_mul_ps(value, gate), sigmoid_of(gate));
  };
  for_eights(
      width,
      [&](std::int64_t at) {
        __m256 value = normed(at, load_eight(rows.weight, at));
        if constexpr (has_gate) value = gated(value, load_eight(rows.gate, at));
        store_eight(rows.y, at, value);
      },
      [&](std::int64_t at, std::int64_t count) {
        __m256 value = normed(at, load_some(rows.weight, at, count));
        if constexpr (has_gate) value = gated(value, load_some(rows.gate, at, count));
        store_some(rows.y, at, count, value);
      });
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t groups = args.x.shape[1], width = args.x.shape[2];
  const bool residual = args.residual.shape.dims > 0, gate = args.gate.shape.dims > 0;
  const auto one = residual ? (gate ? norm_one<true, true> : norm_one<true, false>)
                            : (gate ? norm_one<false, true> : norm_one<false, false>);
  share_out(exec, args.x.shape[0] * groups, args.x.shape[0] * groups * width,
            [&](std::int64_t begin, std::int64_t end) {
              float row[kMostWidth + kWide];
              for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t r = i / groups, g = i % groups;
                const Rows rows{group_of(args.x, r, g), row_at(args.weight, 0), group_of(args.y, r, g),
                                group_of(args.residual, r, g), group_of(args.gate, r, g)};
                one(rows, width, args.epsilon, args.zero_centred ? 1.0f : 0.0f, row);
              }
            });
}

}  // namespace

Candidate<Args> rows() { return {.order = 10, .supports = supports, .run = run}; }

}  // namespace redline::ops::norm::cpu_avx2
