// A checkpoint of 125,000 tensors opens in under a second of one core when its headers are in the page cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/large_folder.hpp"
#include "support/temporary_folder.hpp"

namespace redline::checkpoint {
namespace {

constexpr const char* why_not() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "a sanitizer's time says nothing";
#elif !defined(NDEBUG)
  return "a build without optimisation";
#else
  return nullptr;
#endif
}

// Of this thread alone, so that what else runs on the machine does not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(CheckpointOpening, OfManyTensorsTakesUnderASecond) {
  if (why_not() != nullptr) GTEST_SKIP() << why_not();
  const redline::test::TemporaryFolder folder;
  const test::LargeFolder made(folder.path());
  double best = std::numeric_limits<double>::max();
  for (int round = 0; round < 3; ++round) {
    const double begin = processor_seconds();
    const Checkpoint files = Checkpoint::open(folder.path());
    best = std::min(best, processor_seconds() - begin);
    ASSERT_EQ(files.tensors().size(), static_cast<std::size_t>(test::kLargeTensors));
    ASSERT_NE(files.find("model.layers.39.mlp.experts.255.up_proj.weight_scale_2"), nullptr);
  }
  RecordProperty("seconds", std::to_string(best));
  EXPECT_LT(best, 1.0);
}

}  // namespace
}  // namespace redline::checkpoint
