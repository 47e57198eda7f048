// Decode steps stream the state once for reading; long prompts go in chunks of 64 rows whose work is small
// matrix products; short ones row by row.
//
// In a chunk, with c_i the sum of g up to row i, D_ij = e^(c_i - c_j) for j <= i, and S the state before the
// chunk:
//   A_ij = β_i (k_i·k_j) D_ij for j < i,   (I + A) U = β (V - e^c K S),   O = e^c Q S + ((Q Kᵀ) ∘ D) U,   S
//   <- e^c_last S + Σ_i D_last,i k_i u_iᵀ.
// U is solved for as a whole, so that no inverse and no second right-hand side is needed. Rows of D follow
// from one another by a factor e^g_i <= 1: nothing can overflow, and no difference of large sums is taken. A
// product keeps 6 x 16 sums in registers; S (64 KB) and a chunk's matrices (190 KB) stay in L2.
#include "ops/avx2.hpp"
#include "ops/delta/cpu/heads.hpp"

namespace redline::ops::delta::cpu_avx2 {
namespace {

constexpr std::int64_t kChunk = 64, kTileRows = 6, kTileColumns = 16, kSolveRows = 8;
constexpr std::int64_t kAhead =
    16;  // rows of the state fetched in advance; past its end lies the next head's
constexpr std::int64_t kFewRows = 3;  // up to here a row at a time is as fast

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (args.key_dim % 16 != 0 || args.value_dim % 16 != 0) return {"head widths are no multiples of 16"};
  return supports_types(device, args);
}

float dot(const float* a, const float* b, std::int64_t count) {
  __m256 left = _mm256_setzero_ps(), right = left;
  for (std::int64_t i = 0; i < count; i += 16) {
    left = _mm256_fmadd_ps(_mm256_load_ps(a + i), _mm256_loadu_ps(b + i), left);
    right = _mm256_fmadd_ps(_mm256_load_ps(a + i + 8), _mm256_loadu_ps(b + i + 8), right);
  }
  return sum_lanes(_mm256_add_ps(left, right));
}

// y += factor · x
void add_scaled(float* y, float factor, const float* x, std::int64_t count) {
  const __m256 f = _mm256_set1_ps(factor);
  for (std::int64_t i = 0; i < count; i += 8)
    _mm256_store_ps(y + i, _mm256_fmadd_ps(f, _mm256_loadu_ps(x + i), _mm256_load_ps(y + i)));
}

// p = Sᵀk and r = Sᵀq in one pass through S from front to back, four rows at a time.
void read_state(const Head& head, const float* k, const float* q, float* p, float* r) {
  const std::int64_t width = head.args.value_dim;
  __builtin_memset(p, 0, static_cast<std::size_t>(width) * sizeof(float));
  __builtin_memset(r, 0, static_cast<std::size_t>(width) * sizeof(float));
  for (std::int64_t i = 0; i < head.args.key_dim; i += 4) {
    const float* s = head.state + i * width;
    const __m256 k0 = _mm256_broadcast_ss(k + i), k1 = _mm256_broadcast_ss(k + i + 1),
                 k2 = _mm256_broadcast_ss(k + i + 2), k3 = _mm256_broadcast_ss(k + i + 3);
    const __m256 q0 = _mm256_broadcast_ss(q + i), q1 = _mm256_broadcast_ss(q + i + 1),
                 q2 = _mm256_broadcast_ss(q + i + 2), q3 = _mm256_broadcast_ss(q + i + 3);
    const char* ahead = reinterpret_cast<const char*>(s + kAhead * width);
    for (std::int64_t c = 0; c < width; c += 8, ahead += 128) {
      _mm_prefetch(ahead, _MM_HINT_T0);
      _mm_prefetch(ahead + 64, _MM_HINT_T0);
      const __m256 s0 = _mm256_loadu_ps(s + c), s1 = _mm256_loadu_ps(s + width + c);
      const __m256 s2 = _mm256_loadu_ps(s + 2 * width + c), s3 = _mm256_loadu_ps(s + 3 * width + c);
      __m256 sum = _mm256_fmadd_ps(k1, s1, _mm256_fmadd_ps(k0, s0, _mm256_load_ps(p + c)));
      _mm256_store_ps(p + c, _mm256_fmadd_ps(k3, s3, _mm256_fmadd_ps(k2, s2, sum)));
      sum = _mm256_fmadd_ps(q1, s1, _mm256_fmadd_ps(q0, s0, _mm256_load_ps(r + c)));
      _mm256_store_ps(r + c, _mm256_fmadd_ps(q3, s3, _mm256_fmadd_ps(q2, s2, sum)));
    }
  }
}

// S = e S + Σ_j keys[j] correctionᵀ[j], for the rows of a ring.
void fold(const Head& head) {
  const std::int64_t width = head.args.value_dim;
  const float last = head.decay(head.count - 1);
  const __m256 e = _mm256_set1_ps(__builtin_expf(last));
  float decays[kRingRows];
  for (std::int32_t j = 0; j < head.count; ++j) decays[j] = __builtin_expf(last - head.decay(j));
  for (std::int64_t i = 0; i < head.args.key_dim; ++i) {
    float* s = head.state + i * width;
    float factors[kRingRows];
    for (std::int32_t j = 0; j < head.count; ++j) factors[j] = decays[j] * head.key(j)[i];
    for (std::int64_t c = 0; c < width; c += 16) {
      __m256 left = _mm256_mul_ps(e, _mm256_loadu_ps(s + c)),
             right = _mm256_mul_ps(e, _mm256_loadu_ps(s + c + 8));
      for (std::int32_t j = 0; j < head.count; ++j) {
        const float* u = head.correction(j) + c;
        const __m256 factor = _mm256_broadcast_ss(factors + j);
        left = _mm256_fmadd_ps(factor, _mm256_loadu_ps(u), left);
        right = _mm256_fmadd_ps(factor, _mm256_loadu_ps(u + 8), right);
      }
      _mm256_storeu_ps(s + c, left);
      _mm256_storeu_ps(s + c + 8, right);
    }
  }
}

// u = β (v - p), o = r + (k·q) u
void correct_and_write(const Head& head, std::int64_t t, float both, const float* p, const float* r,
                       float* u) {
  const __m256 beta = _mm256_set1_ps(head.beta(t)), kq = _mm256_set1_ps(both);
  for (std::int64_t c = 0; c < head.args.value_dim; c += 8) {
    const __m256 correction =
        _mm256_mul_ps(beta, _mm256_sub_ps(load_bf16(head.value_of(t) + c), _mm256_load_ps(p + c)));
    _mm256_storeu_ps(u + c, correction);
    store_bf16(head.y_of(t) + c, _mm256_fmadd_ps(kq, correction, _mm256_load_ps(r + c)));
  }
}

void scale(float* x, float factor, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8)
    _mm256_store_ps(x + i, _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_load_ps(x + i)));
}

void decode(const Head& head) {
  const std::int64_t depth = head.args.key_dim, width = head.args.value_dim, first = head.first_place();
  alignas(32) float keys[kRingRows][kMostWidth], q[kMostWidth], p[kMostWidth], r[kMostWidth];
  float sum = first > 0 ? head.decay(first - 1) : 0;
  for (std::int64_t t = 0; t < head.rows; ++t) {
    float* k = keys[t];
    normalise(head.key_of(t), depth, 1, k);
    normalise(head.query_of(t), depth, query_scale(head.args), q);
    sum += head.log_decay(t);
    read_state(head, k, q, p, r);
    const float e = __builtin_expf(sum);
    scale(p, e, width);
    scale(r, e, width);
    for (std::int64_t j = 0; j < first + t; ++j) {
      const float* old = j < first ? head.key(j) : keys[j - first];
      const float decay = __builtin_expf(sum - head.decay(j));
      add_scaled(p, decay * dot(k, old, depth), head.correction(j), width);
      add_scaled(r, decay * dot(q, old, depth), head.correction(j), width);
    }
    head.decay(first + t) = sum;
    correct_and_write(head, t, dot(k, q, depth), p, r, head.correction(first + t));
  }
}

// The single-pass form: p and r from the old state, then S = e S + k uᵀ.
void row_by_row(const Head& head) {
  const std::int64_t depth = head.args.key_dim, width = head.args.value_dim;
  alignas(32) float k[kMostWidth], q[kMostWidth], p[kMostWidth], r[kMostWidth], u[kMostWidth];
  for (std::int64_t t = 0; t < head.rows; ++t) {
    normalise(head.key_of(t), depth, 1, k);
    normalise(head.query_of(t), depth, query_scale(head.args), q);
    const float e = __builtin_expf(head.log_decay(t));
    read_state(head, k, q, p, r);
    scale(p, e, width);
    scale(r, e, width);
    correct_and_write(head, t, dot(k, q, depth), p, r, u);
    for (std::int64_t i = 0; i < depth; ++i) {
      float* s = head.state + i * width;
      const __m256 key = _mm256_set1_ps(k[i]), decay = _mm256_set1_ps(e);
      for (std::int64_t c = 0; c < width; c += 8) {
        _mm256_storeu_ps(
            s + c, _mm256_fmadd_ps(decay, _mm256_loadu_ps(s + c), _mm256_mul_ps(key, _mm256_load_ps(u + c))));
      }
    }
  }
}

// A strided view of floats: element (row, column).
struct Matrix {
  const float* data;
  std::int64_t row_stride, column_stride;
};

// c [kRows, 16] = factor · c + a [kRows, depth] · b [depth, 16]; a factor of 0 takes c as unwritten.
template <int kRows>
void tile(const Matrix& a, const float* b, std::int64_t b_stride, std::int64_t depth, float factor, float* c,
          std::int64_t c_stride) {
  __m256 left[kRows], right[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    left[r] = right[r] = _mm256_setzero_ps();
    if (factor == 0) continue;
    left[r] = _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_loadu_ps(c + r * c_stride));
    right[r] = _mm256_mul_ps(_mm256_set1_ps(factor), _mm256_loadu_ps(c + r * c_stride + 8));
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const __m256 b0 = _mm256_loadu_ps(b + k * b_stride), b1 = _mm256_loadu_ps(b + k * b_stride + 8);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256 value = _mm256_broadcast_ss(a.data + r * a.row_stride + k * a.column_stride);
      left[r] = _mm256_fmadd_ps(value, b0, left[r]);
      right[r] = _mm256_fmadd_ps(value, b1, right[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_ps(c + r * c_stride, left[r]);
    _mm256_storeu_ps(c + r * c_stride + 8, right[r]);
  }
}

// c [rows, columns] = factor · c + a · b; columns in sixteens. With `lower`, row i of a has nothing behind
// column i and `depth` ends there.
void product(const Matrix& a, const float* b, std::int64_t b_stride, std::int64_t rows, std::int64_t columns,
             std::int64_t depth, float factor, float* c, std::int64_t c_stride, bool lower = false) {
  for (std::int64_t column = 0; column < columns; column += kTileColumns) {
    for (std::int64_t row = 0; row < rows; row += kTileRows) {
      const std::int64_t count = rows - row < kTileRows ? rows - row : kTileRows;
      const std::int64_t reach = lower && row + count < depth ? row + count : depth;
      const Matrix from{a.data + row * a.row_stride, a.row_stride, a.column_stride};
      float* to = c + row * c_stride + column;
      switch (count) {
        case 1:
          tile<1>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
        case 2:
          tile<2>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
        case 3:
          tile<3>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
        case 4:
          tile<4>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
        case 5:
          tile<5>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
        default:
          tile<6>(from, b + column, b_stride, reach, factor, to, c_stride);
          break;
      }
    }
  }
}

struct Workspace {
  alignas(32) float keys[kChunk * kMostWidth];
  alignas(32) float keys_across[kMostWidth * kChunk];  // transposed
  alignas(32) float queries[kChunk * kMostWidth];
  alignas(32) float corrections[kChunk * kMostWidth];  // U
  alignas(32) float outputs[kChunk * kMostWidth];
  alignas(32) float among_keys[kChunk * kChunk];     // K Kᵀ, then -A
  alignas(32) float among_queries[kChunk * kChunk];  // Q Kᵀ, then (Q Kᵀ) ∘ D
};

// Rows [first, first + rows) of a prompt.
void chunk(const Head& head, std::int64_t first, std::int64_t rows, Workspace& work) {
  const std::int64_t depth = head.args.key_dim, width = head.args.value_dim;
  const std::int64_t padded = (rows + kTileColumns - 1) / kTileColumns * kTileColumns;
  for (std::int64_t i = 0; i < padded; ++i) {
    if (i >= rows) {
      for (std::int64_t d = 0; d < depth; ++d) work.keys_across[d * kChunk + i] = 0;
      continue;
    }
    normalise(head.key_of(first + i), depth, 1, work.keys + i * depth);
    normalise(head.query_of(first + i), depth, query_scale(head.args), work.queries + i * depth);
    for (std::int64_t d = 0; d < depth; ++d) work.keys_across[d * kChunk + i] = work.keys[i * depth + d];
  }
  const Matrix keys{work.keys, depth, 1}, queries{work.queries, depth, 1};
  product(keys, work.keys_across, kChunk, rows, padded, depth, 0, work.among_keys, kChunk);
  product(queries, work.keys_across, kChunk, rows, padded, depth, 0, work.among_queries, kChunk);
  product(keys, head.state, width, rows, width, depth, 0, work.corrections, width);
  product(queries, head.state, width, rows, width, depth, 0, work.outputs, width);

  float decays[kChunk];  // row i of D
  float since_begin = 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float e = __builtin_expf(head.log_decay(first + i)), beta = head.beta(first + i);
    since_begin *= e;
    for (std::int64_t j = 0; j < i; ++j) decays[j] *= e;
    decays[i] = 1;
    float *a = work.among_keys + i * kChunk, *weights = work.among_queries + i * kChunk;
    for (std::int64_t j = 0; j <= i; ++j) {
      a[j] *= -beta * decays[j];
      weights[j] *= decays[j];
    }
    for (std::int64_t j = i + 1; j < kChunk; ++j) weights[j] = 0;
    float *u = work.corrections + i * width, *o = work.outputs + i * width;
    const __m256 both = _mm256_set1_ps(beta), begin = _mm256_set1_ps(since_begin);
    for (std::int64_t c = 0; c < width; c += 8) {
      const __m256 v = load_bf16(head.value_of(first + i) + c);
      _mm256_store_ps(u + c, _mm256_mul_ps(both, _mm256_fnmadd_ps(begin, _mm256_load_ps(u + c), v)));
      _mm256_store_ps(o + c, _mm256_mul_ps(begin, _mm256_load_ps(o + c)));
    }
  }
  // Forward substitution: what lies before a block of rows by a product, the rest row by row.
  for (std::int64_t block = 0; block < rows; block += kSolveRows) {
    const std::int64_t end = rows - block < kSolveRows ? rows : block + kSolveRows;
    const Matrix before{work.among_keys + block * kChunk, kChunk, 1};
    if (block > 0)
      product(before, work.corrections, width, end - block, width, block, 1, work.corrections + block * width,
              width);
    for (std::int64_t i = block + 1; i < end; ++i) {
      for (std::int64_t j = block; j < i; ++j) {
        add_scaled(work.corrections + i * width, work.among_keys[i * kChunk + j],
                   work.corrections + j * width, width);
      }
    }
  }
  product({work.among_queries, kChunk, 1}, work.corrections, width, rows, width, rows, 1, work.outputs, width,
          true);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < width; c += 8)
      store_bf16(head.y_of(first + i) + c, _mm256_load_ps(work.outputs + i * width + c));
    scale(work.corrections + i * width, decays[i], width);
  }
  product({work.keys_across, kChunk, 1}, work.corrections, width, depth, width, rows, since_begin, head.state,
          width);
}

void run(Exec& exec, const Args& args, int) {
  for_each_head(exec, args, [](const Head& head) {
    if (head.folds()) fold(head);
    if (head.into_ring) {
      decode(head);
    } else if (head.rows <= kFewRows) {
      row_by_row(head);
    } else {
      Workspace work;
      for (std::int64_t i = 0; i < head.rows; i += kChunk)
        chunk(head, i, head.rows - i < kChunk ? head.rows - i : kChunk, work);
    }
  });
}

}  // namespace

Candidate<Args> chunks() { return {.order = 10, .supports = supports, .run = run}; }

}  // namespace redline::ops::delta::cpu_avx2
