// Portable: prompts row by row with one pass that reads the state and one that writes it, decode steps with
// the ring's sums.
#include "ops/delta/cpu/heads.hpp"

namespace redline::ops::delta::cpu_any {
namespace {

// p = Sᵀk, r = Sᵀq
void read_state(const Head& head, const float* k, const float* q, float* p, float* r) {
  const std::int64_t width = head.args.value_dim;
  for (std::int64_t c = 0; c < width; ++c) p[c] = r[c] = 0;
  for (std::int64_t i = 0; i < head.args.key_dim; ++i) {
    const float* s = head.state + i * width;
    for (std::int64_t c = 0; c < width; ++c) {
      p[c] += s[c] * k[i];
      r[c] += s[c] * q[i];
    }
  }
}

float dot(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// The ring's rows join the state.
void fold(const Head& head) {
  const std::int64_t width = head.args.value_dim;
  const float last = head.decay(head.count - 1);
  for (std::int64_t i = 0; i < head.args.key_dim; ++i) {
    float* s = head.state + i * width;
    for (std::int64_t c = 0; c < width; ++c) s[c] *= __builtin_expf(last);
    for (std::int64_t j = 0; j < head.count; ++j) {
      const float factor = __builtin_expf(last - head.decay(j)) * head.key(j)[i];
      for (std::int64_t c = 0; c < width; ++c) s[c] += factor * head.correction(j)[c];
    }
  }
}

void prompt(const Head& head) {
  const std::int64_t depth = head.args.key_dim, width = head.args.value_dim;
  float k[kMostWidth], q[kMostWidth], p[kMostWidth], r[kMostWidth];
  for (std::int64_t t = 0; t < head.rows; ++t) {
    normalise(head.key_of(t), depth, 1, k);
    normalise(head.query_of(t), depth, query_scale(head.args), q);
    const float e = __builtin_expf(head.log_decay(t)), beta = head.beta(t), both = dot(k, q, depth);
    read_state(head, k, q, p, r);
    for (std::int64_t c = 0; c < width; ++c) {
      const float u = beta * (widened(head.value_of(t)[c]) - e * p[c]);
      head.y_of(t)[c] = narrowed(e * r[c] + both * u);
      p[c] = u;
    }
    for (std::int64_t i = 0; i < depth; ++i) {
      for (std::int64_t c = 0; c < width; ++c)
        head.state[i * width + c] = e * head.state[i * width + c] + k[i] * p[c];
    }
  }
}

// u = β (v - e^G Sᵀk - Σ_j e^(G - G_j) (k_j·k) u_j), o = e^G Sᵀq + Σ_j e^(G - G_j) (k_j·q) u_j + (k·q) u
void decode(const Head& head) {
  const std::int64_t depth = head.args.key_dim, width = head.args.value_dim, first = head.first_place();
  float keys[kRingRows][kMostWidth], q[kMostWidth], p[kMostWidth], r[kMostWidth];
  float sum = first > 0 ? head.decay(first - 1) : 0;
  for (std::int64_t t = 0; t < head.rows; ++t) {
    float* k = keys[t];
    normalise(head.key_of(t), depth, 1, k);
    normalise(head.query_of(t), depth, query_scale(head.args), q);
    sum += head.log_decay(t);
    const float e = __builtin_expf(sum), beta = head.beta(t);
    read_state(head, k, q, p, r);
    for (std::int64_t c = 0; c < width; ++c) {
      p[c] *= e;
      r[c] *= e;
    }
    for (std::int64_t j = 0; j < first + t; ++j) {
      const float* old = j < first ? head.key(j) : keys[j - first];
      const float decay = __builtin_expf(sum - head.decay(j));
      const float with_key = decay * dot(old, k, depth), with_query = decay * dot(old, q, depth);
      for (std::int64_t c = 0; c < width; ++c) {
        p[c] += with_key * head.correction(j)[c];
        r[c] += with_query * head.correction(j)[c];
      }
    }
    const float both = dot(k, q, depth);
    head.decay(first + t) = sum;
    for (std::int64_t c = 0; c < width; ++c) {
      const float u = beta * (widened(head.value_of(t)[c]) - p[c]);
      head.correction(first + t)[c] = u;
      head.y_of(t)[c] = narrowed(r[c] + both * u);
    }
  }
}

void run(Exec& exec, const Args& args, int) {
  for_each_head(exec, args, [](const Head& head) {
    if (head.folds()) fold(head);
    if (head.into_ring) {
      decode(head);
    } else {
      prompt(head);
    }
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports_types, .run = run}; }

}  // namespace redline::ops::delta::cpu_any
