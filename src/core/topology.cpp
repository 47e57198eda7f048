// hwloc for the machine, /proc and the control group's files for what a container may use of it.
#include "core/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"

namespace redline {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

Handle load() {
  // Where /sys is not mounted hwloc counts by other means, but first prints a line of its own on stderr, in
  // the middle of what the program has to say.
  ::setenv("HWLOC_HIDE_ERRORS", "2", 0);
  hwloc_topology_t raw = nullptr;
  ensure(hwloc_topology_init(&raw) == 0, ErrorKind::Io,
         "hwloc could not start; the machine's cores cannot be counted");
  Handle topology(raw);
  // Devices are of no interest here and reading them takes most of the time.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  ensure(hwloc_topology_load(raw) == 0, ErrorKind::Io,
         "hwloc could not read the machine's topology; are /sys and /proc mounted?");
  return topology;
}

// The processors of the topology that the calling thread is bound to, since threads it starts inherit that;
// all of them where binding cannot be read.
Bitmap usable_processors(hwloc_topology_t topology) {
  Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) != 0 ||
      hwloc_bitmap_iszero(bound.get())) {
    hwloc_bitmap_fill(bound.get());
  }
  hwloc_bitmap_and(bound.get(), bound.get(), hwloc_topology_get_topology_cpuset(topology));
  return bound;
}

std::vector<int> numbers_in(hwloc_const_bitmap_t set) {
  std::vector<int> numbers;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) numbers.push_back(i);
  return numbers;
}

std::vector<hwloc_obj_t> objects_in_use(hwloc_topology_t topology, hwloc_obj_type_t type,
                                        hwloc_const_bitmap_t usable) {
  std::vector<hwloc_obj_t> found;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    if (object->cpuset != nullptr && hwloc_bitmap_intersects(object->cpuset, usable)) found.push_back(object);
  }
  return found;
}

std::vector<Cache> caches_of(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  std::vector<Cache> caches;
  int level = 0;
  for (hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    ++level;
    const std::vector<hwloc_obj_t> found = objects_in_use(topology, type, usable);
    if (found.empty() || found.front()->attr->cache.size == 0) continue;  // virtual machines may hide sizes
    caches.push_back({.level = level,
                      .bytes = found.front()->attr->cache.size,
                      .count = static_cast<int>(found.size()),
                      .shared_by = hwloc_bitmap_weight(found.front()->cpuset)});
  }
  return caches;
}

std::optional<std::string> first_line_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  const auto line = first_line_of(path);
  if (!line) return std::nullopt;
  std::uint64_t number = 0;
  if (!(std::istringstream(*line) >> number)) return std::nullopt;  // "max": no limit
  return number;
}

// The folders of this process's control group and of all groups above it, whose limits hold too. Version 2
// has one tree (line "0::/path" of the process's file), version 1 one for each controller ("4:memory:/path").
// In a container the path may name a folder that only its host sees; then the tree's root, which is the
// container's own group, is what counts.
std::vector<std::filesystem::path> control_groups(std::string_view controller) {
  const std::filesystem::path tree = "/sys/fs/cgroup";
  std::vector<std::filesystem::path> groups;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size()) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find("," + std::string(controller) + ",") == std::string::npos) continue;
    const std::filesystem::path root = version_2 ? tree : tree / controller;
    std::filesystem::path below = line.substr(second + 2);
    for (; !below.empty(); below = below.parent_path()) groups.push_back(root / below);
    groups.push_back(root);
  }
  return groups;
}

std::optional<double> processor_quota() {
  std::optional<double> quota;
  const auto allow = [&](double time, double period) {
    if (time > 0 && period > 0) quota = std::min(quota.value_or(time / period), time / period);
  };
  for (const auto& group : control_groups("cpu")) {
    double time = 0, period = 0;
    const auto line = first_line_of(group / "cpu.max");  // "250000 100000", or "max 100000"
    if (line && std::istringstream(*line) >> time >> period) allow(time, period);
    const auto old_time = first_line_of(group / "cpu.cfs_quota_us"),
               old_period = first_line_of(group / "cpu.cfs_period_us");
    if (old_time && old_period && std::istringstream(*old_time) >> time &&
        std::istringstream(*old_period) >> period) {
      allow(time, period);  // -1: no limit
    }
  }
  return quota;
}

struct MemoryLimit {
  std::uint64_t bytes = 0, used = 0;
};

// Of a group's use, the file cache that was not touched lately: it is given up before anything fails.
std::uint64_t reclaimable_in(const std::filesystem::path& group) {
  std::ifstream file(group / "memory.stat");
  std::string name;
  for (std::uint64_t bytes = 0; file >> name >> bytes;) {
    if (name == "inactive_file") return bytes;
  }
  return 0;
}

std::vector<MemoryLimit> memory_limits() {
  std::vector<MemoryLimit> limits;
  for (const auto& group : control_groups("memory")) {
    for (const auto& [limit_file, use_file] : {std::pair{"memory.max", "memory.current"},
                                               std::pair{"memory.limit_in_bytes", "memory.usage_in_bytes"}}) {
      const auto limit =
          number_in(group / limit_file);  // version 1 writes a number beyond all memory for none
      if (!limit) continue;
      const std::uint64_t used = number_in(group / use_file).value_or(0);
      limits.push_back({*limit, used - std::min(used, reclaimable_in(group))});
    }
  }
  return limits;
}

std::optional<std::uint64_t> memory_information(std::string_view field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::uint64_t kibibytes = 0;
    if (line.starts_with(field) && std::istringstream(line.substr(field.size())) >> kibibytes)
      return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

int Topology::usable_threads() const {
  int threads = processors;
  if (processor_quota) threads = std::min(threads, static_cast<int>(std::ceil(*processor_quota)));
  return std::max(threads, 1);
}

int Topology::worker_threads() const { return std::max(1, std::min(cores, usable_threads())); }

std::uint64_t Topology::last_cache_bytes() const { return caches.empty() ? 0 : caches.back().bytes; }

Topology read_topology() {
  const Handle handle = load();
  hwloc_topology_t topology = handle.get();
  const Bitmap usable = usable_processors(topology);
  Topology result;
  result.processors = std::max(1, hwloc_bitmap_weight(usable.get()));
  result.packages =
      std::max<int>(1, static_cast<int>(objects_in_use(topology, HWLOC_OBJ_PACKAGE, usable.get()).size()));
  result.cores = static_cast<int>(objects_in_use(topology, HWLOC_OBJ_CORE, usable.get()).size());
  if (result.cores == 0) result.cores = result.processors;  // sandboxes that hide cores: one each
  result.caches = caches_of(topology, usable.get());
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    const Bitmap own(hwloc_bitmap_dup(node->cpuset));
    hwloc_bitmap_and(own.get(), own.get(), usable.get());
    result.nodes.push_back(
        {static_cast<int>(node->os_index), node->attr->numanode.local_memory, numbers_in(own.get())});
    result.memory_bytes += node->attr->numanode.local_memory;
  }
  // Not the nodes' sum: memory that a virtual machine was given later may be missing from it.
  result.memory_bytes = memory_information("MemTotal:").value_or(result.memory_bytes);
  for (const MemoryLimit& limit : memory_limits()) {
    if (result.memory_bytes == 0 || limit.bytes < result.memory_bytes) result.memory_bytes = limit.bytes;
  }
  result.processor_quota = processor_quota();
  return result;
}

std::optional<std::uint64_t> free_memory_bytes() {
  std::optional<std::uint64_t> free = memory_information("MemAvailable:");
  for (const MemoryLimit& limit : memory_limits()) {
    const std::uint64_t left = limit.bytes > limit.used ? limit.bytes - limit.used : 0;
    free = std::min(free.value_or(left), left);
  }
  return free;
}

}  // namespace redline
