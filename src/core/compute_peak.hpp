// How many floating-point operations this machine's processors can do, measured: what bounds prompts on a
// CPU, as memory bandwidth bounds decoding.
#pragma once

#include <string_view>

#include "core/threads.hpp"

namespace redline {

struct ComputePeak {
  double flops = 0;  // a multiply-add counts two; of the best round, all threads of the pool together
  std::string_view
      instructions;  // "avx512_bf16", "avx512f", "avx2+fma", "baseline": the fastest that this processor has
};

// Independent multiply-adds on registers, nothing from memory.
ComputePeak measure_compute_peak(ThreadPool& pool, double seconds = 0.4);

}  // namespace redline
