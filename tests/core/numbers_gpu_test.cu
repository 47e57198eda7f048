// Host numbers against a GPU's, on the GPU: Philox must give the same words on both sides, and the
// conversions of core/numbers.hpp the same bits as CUDA's own bf16, fp8 and fp4 types (cuda_bf16.h,
// cuda_fp8.h, cuda_fp4.h), which run the chip's instructions where it has them. A plain program: exit 0
// equal, 1 not equal, 77 no GPU. Where the two sides may differ by contract, the comparison says so: NaN is
// compared as NaN, not by payload.
#include <cuda_bf16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/numbers.hpp"
#include "core/philox.hpp"

namespace {

constexpr std::uint64_t kSeed = 20260;
constexpr int kCounters = 1 << 20;  // of Philox
constexpr int kPatterns = 1 << 16;  // every bf16
constexpr int kRandom = 1 << 22;    // floats of random bits: every exponent, NaN and infinity among them
constexpr int kNear = 1 << 20;  // floats of random bits in the range where e4m3 and e2m1 have their values

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("numbers_gpu_test: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Memory that both sides see. Freed with the process.
template <class T>
T* shared(std::size_t count) {
  void* memory = nullptr;
  check(cudaMallocManaged(&memory, count * sizeof(T)), "cudaMallocManaged");
  return static_cast<T*>(memory);
}

// What the device makes of one float: its codes, and those codes widened again.
struct Narrowed {
  std::uint16_t bf16;
  std::uint8_t e4m3, e2m1;
  float e2m1_value;
};

struct Widened {
  float bf16, e4m3;
};

// Counters that differ in all words, keys too.
__host__ __device__ redline::PhiloxBlock counter_of(std::uint32_t i) {
  return {{i, i * 0x9E3779B9u, ~i, i ^ 0x5bd1e995u}};
}

__global__ void philox_kernel(redline::PhiloxBlock* out, float* uniforms, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  out[i] = redline::philox4x32_10(counter_of(i), 0xdeadbeefu + i, 77u * i);
  uniforms[i] = redline::uniform_float(kSeed, i / 7, i);
}

__global__ void narrow_kernel(const float* in, Narrowed* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float value = in[i];
  const __nv_fp4_storage_t fp4 =
      __nv_cvt_float_to_fp4(value, __NV_E2M1, cudaRoundNearest);  // always saturates
  const __half_raw widened = __nv_cvt_fp4_to_halfraw(fp4, __NV_E2M1);
  out[i] = {__bfloat16_as_ushort(__float2bfloat16_rn(value)),
            __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3), fp4, __half2float(__half(widened))};
}

__global__ void widen_kernel(Widened* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const __half_raw e4m3 = __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(i & 0xff), __NV_E4M3);
  out[i] = {__bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(i))),
            __half2float(__half(e4m3))};
}

int blocks_for(int count) { return (count + 255) / 256; }

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

long mismatches = 0;

void expect_equal(bool equal, const char* what, std::uint32_t input, std::uint32_t host, std::uint32_t gpu) {
  if (equal) return;
  if (++mismatches <= 20)
    std::printf("numbers_gpu_test: %s of %08x: host %08x, GPU %08x\n", what, input, host, gpu);
}

bool same_float(float host, float gpu) {
  return bits_of(host) == bits_of(gpu) || (std::isnan(host) && std::isnan(gpu));
}

void test_philox() {
  auto* blocks = shared<redline::PhiloxBlock>(kCounters);
  auto* uniforms = shared<float>(kCounters);
  philox_kernel<<<blocks_for(kCounters), 256>>>(blocks, uniforms, kCounters);
  check(cudaDeviceSynchronize(), "philox_kernel");
  for (std::uint32_t i = 0; i < kCounters; ++i) {
    const redline::PhiloxBlock host = redline::philox4x32_10(counter_of(i), 0xdeadbeefu + i, 77u * i);
    for (int word = 0; word < 4; ++word) {
      expect_equal(host.words[word] == blocks[i].words[word], "Philox", i, host.words[word],
                   blocks[i].words[word]);
    }
    const float uniform = redline::uniform_float(kSeed, i / 7, i);
    expect_equal(bits_of(uniform) == bits_of(uniforms[i]), "uniform_float", i, bits_of(uniform),
                 bits_of(uniforms[i]));
  }
}

void test_narrowing(const std::vector<float>& values) {
  const int count = static_cast<int>(values.size());
  auto* in = shared<float>(values.size());
  auto* out = shared<Narrowed>(values.size());
  std::memcpy(in, values.data(), values.size() * sizeof(float));
  narrow_kernel<<<blocks_for(count), 256>>>(in, out, count);
  check(cudaDeviceSynchronize(), "narrow_kernel");
  for (int i = 0; i < count; ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    const std::uint32_t input = bits_of(value);
    const std::uint16_t bf16 = redline::to_bf16(value);
    expect_equal(bf16 == out[i].bf16 ||
                     (std::isnan(redline::from_bf16(bf16)) && std::isnan(redline::from_bf16(out[i].bf16))),
                 "to_bf16", input, bf16, out[i].bf16);
    const std::uint8_t e4m3 = redline::to_e4m3(value);
    expect_equal(
        e4m3 == out[i].e4m3 || (std::isnan(value) && (out[i].e4m3 & 0x7f) == 0x7f && (e4m3 & 0x7f) == 0x7f),
        "to_e4m3", input, e4m3, out[i].e4m3);
    const std::uint8_t e2m1 = redline::to_e2m1(value);
    expect_equal(e2m1 == (out[i].e2m1 & 15), "to_e2m1", input, e2m1, out[i].e2m1);
    const float back = redline::from_e2m1(e2m1);
    expect_equal(bits_of(back) == bits_of(out[i].e2m1_value), "from_e2m1", input, bits_of(back),
                 bits_of(out[i].e2m1_value));
  }
}

void test_widening() {
  auto* out = shared<Widened>(kPatterns);
  widen_kernel<<<blocks_for(kPatterns), 256>>>(out, kPatterns);
  check(cudaDeviceSynchronize(), "widen_kernel");
  for (std::uint32_t i = 0; i < kPatterns; ++i) {
    const float bf16 = redline::from_bf16(static_cast<std::uint16_t>(i));
    expect_equal(same_float(bf16, out[i].bf16), "from_bf16", i, bits_of(bf16), bits_of(out[i].bf16));
    const float e4m3 = redline::from_e4m3(static_cast<std::uint8_t>(i));
    expect_equal(same_float(e4m3, out[i].e4m3), "from_e4m3", i & 0xff, bits_of(e4m3), bits_of(out[i].e4m3));
  }
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("numbers_gpu_test: skipped, no GPU\n");
    return 77;
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::vector<float> values;
  for (std::uint32_t pattern = 0; pattern < kPatterns; ++pattern) values.push_back(float_of(pattern << 16));
  for (std::uint64_t i = 0; i < kRandom; ++i) values.push_back(float_of(redline::random_bits(kSeed, 1, i)));
  for (std::uint64_t i = 0; i < kNear; ++i) {
    // Exponents from 2^-12 to 2^11, any mantissa, either sign.
    const std::uint32_t bits = redline::random_bits(kSeed, 2, i);
    values.push_back(float_of((bits & 0x807f'ffff) | (115 + (bits >> 23) % 24) << 23));
  }
  test_philox();
  test_narrowing(values);
  test_widening();
  std::printf(
      "numbers_gpu_test: %s (sm_%d%d), seed %llu: %d Philox counters, %zu floats narrowed, %d patterns "
      "widened, %ld mismatches\n",
      properties.name, properties.major, properties.minor, static_cast<unsigned long long>(kSeed), kCounters,
      values.size(), kPatterns, mismatches);
  return mismatches == 0 ? 0 : 1;
}
