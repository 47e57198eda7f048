// Host memory from mmap (large blocks ask for huge pages: fewer TLB misses while weights stream), CPUID by
// the compiler's builtins.
#include "device/cpu/cpu_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "core/error.hpp"
#include "core/topology.hpp"

namespace redline {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

void unmap(void* data, std::size_t bytes) noexcept { munmap(data, bytes); }

CpuFeatures features() {
  CpuFeatures found;
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512vnni");
  found.avx512_bf16 = found.avx512 && __builtin_cpu_supports("avx512bf16");
  return found;
}

}  // namespace

CpuDevice::CpuDevice(int threads) : threads_(threads > 0 ? threads : read_topology().usable_threads()) {
  info_.kind = DeviceKind::Cpu;
  info_.name = "CPU";
  info_.multiprocessors = threads_.size();
  info_.memory_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  info_.cpu = features();
}

Buffer CpuDevice::allocate(std::size_t bytes, Place place) {
  ensure(place != Place::Gpu, "memory of a GPU was asked from the CPU device");
  if (bytes == 0) return {};
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ensure(data != MAP_FAILED, ErrorKind::OutOfMemory, "the host cannot give {} bytes ({} in all): {}", bytes,
         info_.memory_bytes, std::strerror(errno));
  if (bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);  // a wish; small pages work too
  return {data, bytes, Place::Host, unmap};
}

void CpuDevice::copy(const TensorView& from, const TensorView& to, StreamRef) {
  const std::int64_t bits = from.shape.elements() * bits_of(from.dtype);
  ensure(bits == to.shape.elements() * bits_of(to.dtype), "a copy of {} {} to {} {}", name_of(from.dtype),
         to_text(from.shape), name_of(to.dtype), to_text(to.shape));
  std::memmove(to.data, from.data, static_cast<std::size_t>(bits / 8));
}

}  // namespace redline
