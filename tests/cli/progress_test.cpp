// What a progress line says.
#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace redline::cli {
namespace {

TEST(Progress, RateAndTimeLeftCountWhatThisRunDid) {
  // 30 GB in 100 s, 10 GB more were there before: 60 GB at 300 MB/s are left.
  const ProgressState state{.what = "quantize",
                            .done = 40'000'000'000,
                            .total = 100'000'000'000,
                            .already = 10'000'000'000,
                            .seconds = 100};
  EXPECT_EQ(progress_line(state), "quantize: 40 %, 40.0 GB of 100.0 GB, 300 MB/s, 3 min 20 s left");
}

TEST(Progress, SaysNoRateBeforeThereIsOne) {
  EXPECT_EQ(progress_line({.what = "quantize", .done = 5, .total = 1000, .already = 0, .seconds = 0.2}),
            "quantize: 0 %, 5 B of 1.0 kB");
  EXPECT_EQ(progress_line({.what = "quantize", .done = 500, .total = 1000, .already = 500, .seconds = 50}),
            "quantize: 50 %, 500 B of 1.0 kB");
}

// 100 % is said when all is done and not before.
TEST(Progress, PercentagesAreRoundedDown) {
  EXPECT_EQ(progress_line({.what = "q", .done = 9999, .total = 10000}), "q: 99 %, 10.0 kB of 10.0 kB");
  EXPECT_EQ(progress_line({.what = "q", .done = 10000, .total = 10000}), "q: 100 %, 10.0 kB of 10.0 kB");
  EXPECT_EQ(progress_line({.what = "q", .done = 0, .total = 0}), "q: 100 %, 0 B of 0 B");
}

}  // namespace
}  // namespace redline::cli
