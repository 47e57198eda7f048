// How fast weights are decoded and encoded on one thread. Rates count weight elements; bytes are those of the
// float side.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/hash.hpp"
#include "core/philox.hpp"
#include "quant/fp8.hpp"
#include "quant/nvfp4.hpp"
#include "quant/scale_order.hpp"

namespace {

using namespace redline;

constexpr std::int64_t kRows = 256, kColumns = 4096;
constexpr std::size_t kElements = kRows * kColumns;

std::vector<float> weights() {
  std::vector<float> values(kElements);
  for (std::size_t i = 0; i < kElements; ++i) values[i] = uniform_float(1, 0, i) - 0.5f;
  return values;
}

void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kElements));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kElements * sizeof(float)));
}

void nvfp4_encode(benchmark::State& state) {
  const std::vector<float> values = weights();
  std::vector<std::uint8_t> codes(kElements / 2), scales(kElements / 16);
  for (auto _ : state) {
    benchmark::DoNotOptimize(quant::encode_nvfp4({.rows = kRows,
                                                  .columns = kColumns,
                                                  .values = values,
                                                  .codes = codes,
                                                  .scales = scales,
                                                  .name = "bench"}));
  }
  count(state);
}
BENCHMARK(nvfp4_encode);

void nvfp4_decode(benchmark::State& state) {
  std::vector<float> values = weights();
  std::vector<std::uint8_t> codes(kElements / 2), scales(kElements / 16);
  const float tensor_scale = quant::encode_nvfp4({.rows = kRows,
                                                  .columns = kColumns,
                                                  .values = values,
                                                  .codes = codes,
                                                  .scales = scales,
                                                  .name = "bench"});
  for (auto _ : state) {
    quant::decode_nvfp4({.rows = kRows,
                         .columns = kColumns,
                         .codes = codes,
                         .scales = scales,
                         .tensor_scale = tensor_scale,
                         .out = values,
                         .name = "bench"});
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(nvfp4_decode);

void fp8_block_encode(benchmark::State& state) {
  const std::vector<float> values = weights();
  const auto blocks = quant::Fp8Blocks::of_128(kRows, kColumns);
  std::vector<std::uint8_t> codes(kElements);
  std::vector<std::byte> scales(static_cast<std::size_t>(blocks.scales()) * 4);
  for (auto _ : state) {
    quant::encode_fp8(
        {.blocks = blocks, .values = values, .codes = codes, .scales = scales, .name = "bench"});
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(fp8_block_encode);

void fp8_block_decode(benchmark::State& state) {
  std::vector<float> values(kElements);
  const auto blocks = quant::Fp8Blocks::of_128(kRows, kColumns);
  const std::vector<std::uint8_t> codes(kElements, 0x35);
  const std::vector<std::byte> scales(static_cast<std::size_t>(blocks.scales()) * 4);
  for (auto _ : state) {
    quant::decode_fp8({.blocks = blocks, .codes = codes, .scales = scales, .out = values, .name = "bench"});
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(fp8_block_decode);

void scales_to_tiles(benchmark::State& state) {
  const std::int64_t groups = kColumns / 16;
  const std::vector<std::uint8_t> plain(static_cast<std::size_t>(kRows * groups), 1);
  std::vector<std::uint8_t> tiled(static_cast<std::size_t>(quant::tiled_scale_bytes(kRows, groups)));
  for (auto _ : state) {
    quant::to_tiled_scales({.rows = kRows, .groups = groups, .from = plain, .to = tiled});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(plain.size()));
}
BENCHMARK(scales_to_tiles);

void xxh64(benchmark::State& state) {
  const std::vector<std::byte> bytes(1 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(hash_bytes(bytes));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(xxh64);

}  // namespace

BENCHMARK_MAIN();
