// A folder like the largest published ones of the 35B size: 125,000 tensors in four shards with an index, for
// the test and the benchmark of opening. Names, types and shapes are real; the weights are holes in the files
// that no block of the disk stands for.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace redline::checkpoint::test {

inline constexpr int kLargeTensors = 125'000;

class LargeFolder {
 public:
  explicit LargeFolder(const std::filesystem::path& folder) {
    constexpr int kLayers = 40, kExperts = 256;
    // 40 · 256 · 3 · 4 = 122,880 tensors of experts; norms fill up to 125,000.
    for (int layer = 0; layer < kLayers; ++layer) {
      shard_ = static_cast<std::size_t>(layer) * shards_.size() / kLayers;
      const std::string prefix = fmt::format("model.language_model.layers.{}.", layer);
      for (int expert = 0; expert < kExperts; ++expert) {
        for (const char* matrix : {"down_proj", "gate_proj", "up_proj"}) {
          const std::string module = fmt::format("{}mlp.experts.{}.{}.", prefix, expert, matrix);
          add(module + "input_scale", "F32", "[]", 4);
          add(module + "weight", "U8", "[512,1024]", 512 * 1024);
          add(module + "weight_scale", "F8_E4M3", "[512,128]", 512 * 128);
          add(module + "weight_scale_2", "F32", "[]", 4);
        }
      }
      for (int i = 0; i < (kLargeTensors - 122'880) / kLayers; ++i)
        add(fmt::format("{}norm_{}.weight", prefix, i), "BF16", "[2048]", 4096);
    }
    write(folder);
  }

 private:
  struct Shard {
    std::string json;
    std::uint64_t bytes = 0;
  };

  static std::string file_name(std::size_t shard) {
    return fmt::format("model-{:05}-of-00004.safetensors", shard + 1);
  }

  void add(const std::string& name, const char* dtype, const char* shape, std::uint64_t bytes) {
    Shard& shard = shards_[shard_];
    shard.json +=
        fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                    shard.json.empty() ? "{" : ",", name, dtype, shape, shard.bytes, shard.bytes + bytes);
    shard.bytes += bytes;
    index_ += fmt::format("{}\n    \"{}\": \"{}\"", index_.empty() ? "" : ",", name, file_name(shard_));
  }

  void write(const std::filesystem::path& folder) {
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const std::string json = shards_[i].json + "}";
      std::string header;
      for (int byte = 0; byte < 8; ++byte) header += static_cast<char>(json.size() >> (8 * byte) & 0xff);
      header += json;
      const std::filesystem::path path = folder / file_name(i);
      std::ofstream(path, std::ios::binary) << header;
      std::filesystem::resize_file(path, header.size() + shards_[i].bytes);
    }
    std::ofstream(folder / "model.safetensors.index.json")
        << "{\"metadata\": {\"total_size\": 0}, \"weight_map\": {" << index_ << "\n}}\n";
    std::ofstream(folder / "config.json") << "{}";
  }

  std::array<Shard, 4> shards_;
  std::size_t shard_ = 0;
  std::string index_;
};

}  // namespace redline::checkpoint::test
