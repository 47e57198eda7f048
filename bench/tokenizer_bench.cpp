// How fast text becomes tokens and a tokenizer.json becomes a tokenizer, on one thread.
//
//   tokenizer_bench TOKENIZER.json TEXT [Google Benchmark's options]
//
// tools/bench/tokenizer_speed.py makes both files and measures the reference library on the same ones.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "text/stream_decoder.hpp"
#include "text/tokenizer.hpp"

namespace redline::text {
namespace {

void bench_load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    const Tokenizer tokenizer = Tokenizer::load(path);
    benchmark::DoNotOptimize(tokenizer.vocabulary_size());
  }
}

void report(benchmark::State& state, std::size_t bytes, std::size_t tokens) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["tokens"] = static_cast<double>(tokens);
}

// One request with all of the text, or one per line.
void bench_encode(benchmark::State& state, const Tokenizer& tokenizer,
                  const std::vector<std::string_view>& texts) {
  std::size_t bytes = 0, tokens = 0;
  for (const std::string_view text : texts) bytes += text.size();
  for (auto _ : state) {
    tokens = 0;
    for (const std::string_view text : texts) tokens += tokenizer.encode(text, Specials::Parse).size();
    benchmark::DoNotOptimize(tokens);
  }
  report(state, bytes, tokens);
}

void bench_stream_decode(benchmark::State& state, const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text, Specials::Parse);
  for (auto _ : state) {
    StreamDecoder decoder(tokenizer);
    std::size_t size = 0;
    for (const std::int32_t id : ids) size += decoder.push(id).size();
    size += decoder.finish().size();
    benchmark::DoNotOptimize(size);
  }
  report(state, text.size(), ids.size());
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s TOKENIZER.json TEXT [options of Google Benchmark]\n", argv[0]);
    return 2;
  }
  const std::string path = argv[1];
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const Tokenizer tokenizer = Tokenizer::load(path);
  std::vector<std::string_view> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    lines.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  const std::vector<std::string_view> whole{text};
  benchmark::RegisterBenchmark("load", [&](benchmark::State& state) {
    bench_load(state, path);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("encode/whole", [&](benchmark::State& state) {
    bench_encode(state, tokenizer, whole);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("encode/lines", [&](benchmark::State& state) {
    bench_encode(state, tokenizer, lines);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("stream_decode", [&](benchmark::State& state) {
    bench_stream_decode(state, tokenizer, text);
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace redline::text

int main(int argc, char** argv) { return redline::text::run(argc, argv); }
