// Attention over blocks of 32 tokens for a tile of query vectors that share a KV head: all heads of its
// group, and as many rows as make up 48 vectors. One decoded row and a prompt take the same path, so keys and
// values are read, and widened, once for all query heads of a group.
//
// Scores are dot products of 3 queries with 4 keys at a time (12 sums in registers, 7 loads per 12 FMA),
// outputs are sums over tokens of 3 queries by 32 columns; a block of keys or values is 32 KB of floats.
// Every number is added up in an order that depends on the token alone: blocks of 32 from token 0 on are
// merged by running maximum into parts, and parts into the result. So a row comes out the same whatever other
// rows are there and however the work is shared out. Parts also are what threads share when there are few
// rows: a part is at least 1024 tokens, and at most 1/32 of the whole cache is where it ends to grow.
#include "ops/attention/attention.hpp"
#include "ops/avx2.hpp"
#include "ops/cpu_share.hpp"

namespace redline::ops::attention::cpu_avx2 {
namespace {

constexpr std::int64_t kBlock = 32, kMostWidth = 256, kVectors = 48, kShortestPart = 1024, kMostParts = 32;
constexpr std::int64_t kMostSplitRows = 16;  // with more rows there is enough to share out without parts
constexpr float kNothing = -3.0e38f;  // a maximum over no tokens; finite, so that differences stay numbers

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu || !device.cpu.avx2) return {"needs a CPU with AVX2 and FMA"};
  if (args.query.dtype != DType::BF16 || args.kv.dtype != DType::BF16 || args.y.dtype != DType::BF16)
    return {"query, cache or y is not BF16"};
  if (args.query_gate.shape.dims != 0 && args.query_gate.dtype != DType::BF16) return {"gate is not BF16"};
  if (args.query.shape[2] > kMostWidth || args.query.shape[2] % 32 != 0)
    return {"head width is no multiple of 32 up to 256"};
  if (args.query.shape[1] / args.kv.shape[2] > kVectors) return {"more than 48 query heads for a KV head"};
  return {};
}

std::int64_t part_tokens(const Args& args) {
  const std::int64_t tokens = args.kv.shape[0] * args.kv.shape[3];
  const std::int64_t share = (tokens + kMostParts - 1) / kMostParts;
  return share <= kShortestPart ? kShortestPart : (share + kBlock - 1) / kBlock * kBlock;
}
std::int64_t most_parts(const Args& args) {
  const std::int64_t tokens = args.kv.shape[0] * args.kv.shape[3];
  return (tokens + part_tokens(args) - 1) / part_tokens(args);
}

// Of one (row, head): running sum of outputs, then maximum and sum of weights.
std::int64_t partial_floats(const Args& args) { return args.query.shape[2] + 8; }

std::size_t scratch_bytes(const Args& args, int) {
  const std::int64_t rows = args.query.shape[0];
  if (rows > kMostSplitRows || most_parts(args) == 1) return 0;
  return static_cast<std::size_t>(rows * args.query.shape[1] * most_parts(args) * partial_floats(args)) *
         sizeof(float);
}

struct Workspace {
  alignas(32) float block[kBlock * kMostWidth];    // keys, then values
  alignas(32) float query[kVectors * kMostWidth];  // times scale
  alignas(32) float sums[kVectors * kMostWidth];
  alignas(32) float scores[kVectors * kBlock];
  alignas(32) float total_sums[kVectors * kMostWidth];
  float most[kVectors], total[kVectors];
  float all_most[kVectors], all_total[kVectors];
};

// Rows [row, row + rows) of sequence s and the query heads of one KV head.
struct Tile {
  std::int64_t s, row, rows, kv_head, group, width;
  std::int64_t vectors() const { return rows * group; }
};

std::int64_t seen_by(const Args& args, std::int64_t s, std::int64_t row) {
  return integers(args.kv_lengths)[s] - (integers(args.row_begin)[s + 1] - row) + 1;
}

// Tokens [first, first + count) of keys (part 0) or values, as floats; up to the next multiple of four zeros
// follow.
void widen_block(const Args& args, const Tile& tile, int part, std::int64_t first, std::int64_t count,
                 float* to) {
  const std::int32_t* pages = integers(args.pages) + integers(args.page_begin)[tile.s];
  const std::int64_t page_tokens = args.kv.shape[3];
  const auto* cache = static_cast<const std::uint16_t*>(args.kv.data) + part * args.kv.strides[1] +
                      tile.kv_head * args.kv.strides[2];
  for (std::int64_t t = 0; t < count; ++t) {
    const std::uint16_t* from = cache + pages[(first + t) / page_tokens] * args.kv.strides[0] +
                                (first + t) % page_tokens * args.kv.strides[3];
    for (std::int64_t i = 0; i < tile.width; i += 8)
      _mm256_store_ps(to + t * tile.width + i, load_bf16(from + i));
  }
  for (std::int64_t t = count; t % 4 != 0; ++t) {
    for (std::int64_t i = 0; i < tile.width; i += 8)
      _mm256_store_ps(to + t * tile.width + i, _mm256_setzero_ps());
  }
}

// scores [kQueries, 4] = queries · four keys
template <int kQueries>
void score_tile(const float* query, const float* keys, std::int64_t width, float* scores) {
  __m256 sums[kQueries][4];
#pragma GCC unroll 8
  for (auto& row : sums) {
#pragma GCC unroll 8
    for (auto& sum : row) sum = _mm256_setzero_ps();
  }
  for (std::int64_t i = 0; i < width; i += 8) {
    __m256 q[kQueries];
#pragma GCC unroll 8
    for (int m = 0; m < kQueries; ++m) q[m] = _mm256_load_ps(query + m * width + i);
#pragma GCC unroll 8
    for (int t = 0; t < 4; ++t) {
      const __m256 k = _mm256_load_ps(keys + t * width + i);
#pragma GCC unroll 8
      for (int m = 0; m < kQueries; ++m) sums[m][t] = _mm256_fmadd_ps(q[m], k, sums[m][t]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kQueries; ++m)
    _mm_store_ps(scores + m * kBlock, sum_lanes(sums[m][0], sums[m][1], sums[m][2], sums[m][3]));
}

// sums [kQueries, 32 columns] = sums · factor + Σ_t weights[t] · values[t]
template <int kQueries>
void value_tile(const float* weights, const float* factors, const float* values, std::int64_t count,
                std::int64_t width, float* sums) {
  __m256 all[kQueries][4];
#pragma GCC unroll 8
  for (int m = 0; m < kQueries; ++m) {
    const __m256 factor = _mm256_set1_ps(factors[m]);
#pragma GCC unroll 8
    for (int j = 0; j < 4; ++j) all[m][j] = _mm256_mul_ps(_mm256_load_ps(sums + m * width + 8 * j), factor);
  }
  for (std::int64_t t = 0; t < count; ++t) {
    __m256 p[kQueries];
#pragma GCC unroll 8
    for (int m = 0; m < kQueries; ++m) p[m] = _mm256_broadcast_ss(weights + m * kBlock + t);
#pragma GCC unroll 8
    for (int j = 0; j < 4; ++j) {
      const __m256 v = _mm256_load_ps(values + t * width + 8 * j);
#pragma GCC unroll 8
      for (int m = 0; m < kQueries; ++m) all[m][j] = _mm256_fmadd_ps(p[m], v, all[m][j]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kQueries; ++m) {
#pragma GCC unroll 8
    for (int j = 0; j < 4; ++j) _mm256_store_ps(sums + m * width + 8 * j, all[m][j]);
  }
}

// One block of tokens. Tokens that a row does not see get weight 0.
void attend_block(const Args& args, const Tile& tile, std::int64_t first, std::int64_t count,
                  Workspace& work) {
  const std::int64_t vectors = tile.vectors(), width = tile.width;
  widen_block(args, tile, 0, first, count, work.block);
  for (std::int64_t m = 0; m < vectors; m += 3) {
    for (std::int64_t t = 0; t < count; t += 4) {
      const float *query = work.query + m * width, *keys = work.block + t * width;
      float* scores = work.scores + m * kBlock + t;
      if (vectors - m >= 3) {
        score_tile<3>(query, keys, width, scores);
      } else if (vectors - m == 2) {
        score_tile<2>(query, keys, width, scores);
      } else {
        score_tile<1>(query, keys, width, scores);
      }
    }
  }
  float factors[kVectors];
  for (std::int64_t m = 0; m < vectors; ++m) {
    float* scores = work.scores + m * kBlock;
    const std::int64_t row_sees = seen_by(args, tile.s, tile.row + m / tile.group) - first;
    const std::int64_t seen = row_sees < 0 ? 0 : row_sees < count ? row_sees : count;
    for (std::int64_t t = seen; t < kBlock; ++t) scores[t] = kNothing;
    __m256 most = _mm256_set1_ps(work.most[m]);
    for (std::int64_t t = 0; t < kBlock; t += 8) most = _mm256_max_ps(most, _mm256_load_ps(scores + t));
    const float now = largest_lane(most);
    __m256 sum = _mm256_setzero_ps();
    for (std::int64_t t = 0; t < kBlock; t += 8) {
      const __m256 score = _mm256_load_ps(scores + t);
      const __m256 seen_lanes = _mm256_cmp_ps(score, _mm256_set1_ps(kNothing), _CMP_NEQ_UQ);
      const __m256 weight = _mm256_and_ps(exp_of(_mm256_sub_ps(score, _mm256_set1_ps(now))), seen_lanes);
      _mm256_store_ps(scores + t, weight);
      sum = _mm256_add_ps(sum, weight);
    }
    const __m256 change = exp_of(_mm256_set1_ps(work.most[m] - now));
    factors[m] = _mm256_cvtss_f32(change);
    work.total[m] = work.total[m] * factors[m] + sum_lanes(sum);
    work.most[m] = now;
  }
  widen_block(args, tile, 1, first, count, work.block);
  for (std::int64_t i = 0; i < width; i += 32) {
    for (std::int64_t m = 0; m < vectors; m += 3) {
      const float *weights = work.scores + m * kBlock, *values = work.block + i;
      float* sums = work.sums + m * width + i;
      if (vectors - m >= 3) {
        value_tile<3>(weights, factors + m, values, count, width, sums);
      } else if (vectors - m == 2) {
        value_tile<2>(weights, factors + m, values, count, width, sums);
      } else {
        value_tile<1>(weights, factors + m, values, count, width, sums);
      }
    }
  }
}

void widen_queries(const Args& args, const Tile& tile, Workspace& work) {
  const __m256 scale = _mm256_set1_ps(args.scale);
  for (std::int64_t m = 0; m < tile.vectors(); ++m) {
    const auto* from = static_cast<const std::uint16_t*>(args.query.data) +
                       (tile.row + m / tile.group) * args.query.strides[0] +
                       (tile.kv_head * tile.group + m % tile.group) * args.query.strides[1];
    for (std::int64_t i = 0; i < tile.width; i += 8)
      _mm256_store_ps(work.query + m * tile.width + i, _mm256_mul_ps(load_bf16(from + i), scale));
  }
}

// Tokens [first, last) from nothing, into work.sums, most and total.
void attend_part(const Args& args, const Tile& tile, std::int64_t first, std::int64_t last, Workspace& work) {
  for (std::int64_t m = 0; m < tile.vectors(); ++m) {
    work.most[m] = kNothing;
    work.total[m] = 0;
  }
  __builtin_memset(work.sums, 0, static_cast<std::size_t>(tile.vectors() * tile.width) * sizeof(float));
  for (std::int64_t t = first; t < last; t += kBlock)
    attend_block(args, tile, t, last - t < kBlock ? last - t : kBlock, work);
}

// A part joins what came before it; one that the row does not see changes nothing.
void merge(float* sums, float& most, float& total, const float* part_sums, float part_most, float part_total,
           std::int64_t width) {
  if (part_total == 0) return;
  const float now = part_most > most ? part_most : most;
  const __m256 ours = exp_of(_mm256_set1_ps(most - now)), theirs = exp_of(_mm256_set1_ps(part_most - now));
  for (std::int64_t i = 0; i < width; i += 8) {
    _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(_mm256_loadu_ps(sums + i), ours,
                                               _mm256_mul_ps(_mm256_loadu_ps(part_sums + i), theirs)));
  }
  total = total * _mm256_cvtss_f32(ours) + part_total * _mm256_cvtss_f32(theirs);
  most = now;
}

void write_head(const Args& args, std::int64_t row, std::int64_t head, const float* sums, float total) {
  auto* y = static_cast<std::uint16_t*>(args.y.data) + row * args.y.strides[0] + head * args.y.strides[1];
  const std::int64_t width = args.query.shape[2];
  const std::uint16_t* gate = nullptr;
  if (args.query_gate.shape.dims != 0) {
    gate = static_cast<const std::uint16_t*>(args.query_gate.data) + row * args.query_gate.strides[0] +
           head * args.query_gate.strides[1] + width;
  }
  const __m256 inverse = _mm256_set1_ps(1 / total);
  for (std::int64_t i = 0; i < width; i += 8) {
    __m256 value = _mm256_mul_ps(_mm256_loadu_ps(sums + i), inverse);
    if (gate != nullptr) value = _mm256_mul_ps(value, sigmoid_of(load_bf16(gate + i)));
    store_bf16(y + i, value);
  }
}

// All parts of a tile one after another.
void attend_tile(const Args& args, const Tile& tile, Workspace& work) {
  const std::int64_t vectors = tile.vectors(), width = tile.width, part = part_tokens(args);
  widen_queries(args, tile, work);
  const std::int64_t tokens = seen_by(args, tile.s, tile.row + tile.rows - 1);
  for (std::int64_t m = 0; m < vectors; ++m) {
    work.all_most[m] = kNothing;
    work.all_total[m] = 0;
  }
  __builtin_memset(work.total_sums, 0, static_cast<std::size_t>(vectors * width) * sizeof(float));
  for (std::int64_t first = 0; first < tokens; first += part) {
    attend_part(args, tile, first, first + part < tokens ? first + part : tokens, work);
    for (std::int64_t m = 0; m < vectors; ++m) {
      merge(work.total_sums + m * width, work.all_most[m], work.all_total[m], work.sums + m * width,
            work.most[m], work.total[m], width);
    }
  }
  for (std::int64_t m = 0; m < vectors; ++m) {
    write_head(args, tile.row + m / tile.group, tile.kv_head * tile.group + m % tile.group,
               work.total_sums + m * width, work.all_total[m]);
  }
}

// Calls body(tile) for the tiles of all sequences.
template <class Body>
void for_each_tile(const Args& args, Body&& body) {
  const std::int64_t group = args.query.shape[1] / args.kv.shape[2], rows_of_tile = kVectors / group;
  for (std::int64_t s = 0; s + 1 < args.row_begin.shape[0]; ++s) {
    const std::int64_t begin = integers(args.row_begin)[s], end = integers(args.row_begin)[s + 1];
    for (std::int64_t row = begin; row < end; row += rows_of_tile) {
      const std::int64_t rows = end - row < rows_of_tile ? end - row : rows_of_tile;
      for (std::int64_t head = 0; head < args.kv.shape[2]; ++head)
        body(Tile{s, row, rows, head, group, args.query.shape[2]});
    }
  }
}

// Every thread takes the next piece of work until there is none: pieces of a causal prompt are of very
// unequal size.
template <class Body>
void take_turns(Exec& exec, std::int64_t count, std::int64_t work, Body&& body) {
  if (work < kWorthThreads) return body([next = std::int64_t{0}]() mutable { return next++; });
  ThreadPool& threads = static_cast<CpuDevice&>(exec.device).threads();
  std::int64_t next = 0;
  const auto size = static_cast<std::size_t>(threads.size() < count ? threads.size() : count);
  threads.parallel_for(size, [&](const ThreadPool::Chunk&) {
    body([&next] { return __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED); });
  });
}

// The piece of work `wanted` is for whoever drew that number.
template <class Next, class Body>
void walk_tiles(const Args& args, bool in_parts, Next&& next, Body&& body) {
  std::int64_t at = 0, wanted = next();
  const std::int64_t part = part_tokens(args);
  for_each_tile(args, [&](const Tile& tile) {
    const std::int64_t tokens = seen_by(args, tile.s, tile.row + tile.rows - 1);
    for (std::int64_t first = 0; first == 0 || (in_parts && first < tokens); first += part, ++at) {
      if (at != wanted) continue;
      body(tile, first, first + part < tokens ? first + part : tokens);
      wanted = next();
    }
  });
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t rows = args.query.shape[0], heads = args.query.shape[1], width = args.query.shape[2];
  std::int64_t pieces = 0, parts = 0, work = 0;
  for_each_tile(args, [&](const Tile& tile) {
    const std::int64_t tokens = seen_by(args, tile.s, tile.row + tile.rows - 1);
    pieces += 1;
    parts += (tokens + part_tokens(args) - 1) / part_tokens(args);
    work += tile.vectors() * tokens * width;
  });
  const bool in_parts = rows <= kMostSplitRows && most_parts(args) > 1;
  if (!in_parts) {
    take_turns(exec, pieces, work, [&](auto&& next) {
      Workspace space;
      walk_tiles(args, false, next,
                 [&](const Tile& tile, std::int64_t, std::int64_t) { attend_tile(args, tile, space); });
    });
    return;
  }

  const std::int64_t floats = partial_floats(args), most = most_parts(args), part = part_tokens(args);
  auto* partials = static_cast<float*>(exec.scratch.take_bytes(scratch_bytes(args, 0)));
  const auto partial_of = [&](const Tile& tile, std::int64_t m, std::int64_t index) {
    return partials +
           (((tile.row + m / tile.group) * heads + tile.kv_head * tile.group + m % tile.group) * most +
            index) *
               floats;
  };
  take_turns(exec, parts, work, [&](auto&& next) {
    Workspace space;
    walk_tiles(args, true, next, [&](const Tile& tile, std::int64_t first, std::int64_t last) {
      widen_queries(args, tile, space);
      attend_part(args, tile, first, last, space);
      for (std::int64_t m = 0; m < tile.vectors(); ++m) {
        float* to = partial_of(tile, m, first / part);
        __builtin_memcpy(to, space.sums + m * width, static_cast<std::size_t>(width) * sizeof(float));
        to[width] = space.most[m];
        to[width + 1] = space.total[m];
      }
    });
  });
  for_each_tile(args, [&](const Tile& tile) {
    const std::int64_t tokens = seen_by(args, tile.s, tile.row + tile.rows - 1);
    for (std::int64_t m = 0; m < tile.vectors(); ++m) {
      alignas(32) float sums[kMostWidth] = {};
      float all_most = kNothing, all_total = 0;
      for (std::int64_t index = 0; index * part < tokens; ++index) {
        const float* from = partial_of(tile, m, index);
        merge(sums, all_most, all_total, from, from[width], from[width + 1], width);
      }
      write_head(args, tile.row + m / tile.group, tile.kv_head * tile.group + m % tile.group, sums,
                 all_total);
    }
  });
}

}  // namespace

Candidate<Args> blocks() {
  return {.order = 10, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::attention::cpu_avx2
