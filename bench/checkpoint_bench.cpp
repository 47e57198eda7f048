// How long it takes to open a checkpoint of 125,000 tensors whose headers are in the page cache, and to find
// tensors in it; one thread.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/tensor_scheme.hpp"
// A relative path, since benchmarks do not have tests/ in their include path.
#include "../tests/checkpoint/large_folder.hpp"

namespace {

using namespace redline;
using checkpoint::Checkpoint;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "redline-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    const checkpoint::test::LargeFolder made(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void open_folder(benchmark::State& state) {
  const Folder folder;
  for (auto _ : state) benchmark::DoNotOptimize(Checkpoint::open(folder.path()));
  state.SetItemsProcessed(state.iterations() * checkpoint::test::kLargeTensors);
}

void find_every_tensor(benchmark::State& state) {
  const Folder folder;
  const Checkpoint files = Checkpoint::open(folder.path());
  for (auto _ : state) {
    for (const checkpoint::Tensor& tensor : files.tensors())
      benchmark::DoNotOptimize(files.find(tensor.name));
  }
  state.SetItemsProcessed(state.iterations() * checkpoint::test::kLargeTensors);
}

void find_weights(benchmark::State& state) {
  const Folder folder;
  const Checkpoint files = Checkpoint::open(folder.path());
  std::vector<std::string> modules;
  for (int layer = 0; layer < 40; ++layer) {
    for (int expert = 0; expert < 256; ++expert)
      modules.push_back(fmt::format("model.layers.{}.mlp.experts.{}.up_proj", layer, expert));
  }
  for (auto _ : state) {
    for (const std::string& module : modules)
      benchmark::DoNotOptimize(checkpoint::find_weight(files, module));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(modules.size()));
}

BENCHMARK(open_folder)->Unit(benchmark::kMillisecond);
BENCHMARK(find_every_tensor)->Unit(benchmark::kMillisecond);
BENCHMARK(find_weights)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
