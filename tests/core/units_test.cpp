// How numbers read: the usual case, and both sides of every border between two units.
#include "core/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace redline::units {
namespace {

TEST(Units, BinaryBytes) {
  EXPECT_EQ(binary_bytes(0), "0 B");
  EXPECT_EQ(binary_bytes(1023), "1023 B");
  EXPECT_EQ(binary_bytes(1024), "1.0 KiB");
  EXPECT_EQ(binary_bytes(1536), "1.5 KiB");
  EXPECT_EQ(binary_bytes((1 << 20) - 52), "1023.9 KiB");  // 1023.949
  EXPECT_EQ(binary_bytes((1 << 20) - 51), "1.0 MiB");     // 1023.950, which rounds to 1024.0
  EXPECT_EQ(binary_bytes(251'148'965'478), "233.9 GiB");
  EXPECT_EQ(binary_bytes(std::numeric_limits<std::uint64_t>::max()), "16.0 EiB");
}

TEST(Units, DecimalBytes) {
  EXPECT_EQ(decimal_bytes(999), "999 B");
  EXPECT_EQ(decimal_bytes(1000), "1.0 kB");
  EXPECT_EQ(decimal_bytes(999'949), "999.9 kB");
  EXPECT_EQ(decimal_bytes(999'950), "1.0 MB");
  EXPECT_EQ(decimal_bytes(21'800'000'000), "21.8 GB");
  EXPECT_EQ(decimal_bytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

TEST(Units, Counts) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(371'444), "371,444");
  EXPECT_EQ(grouped(1'234'567'890), "1,234,567,890");
  EXPECT_EQ(short_count(950), "950");
  EXPECT_EQ(short_count(396'800'000'000), "396.8 B");
  EXPECT_EQ(short_count(999'960), "1.0 M");
}

TEST(Units, Durations) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(830e-9), "830 ns");
  EXPECT_EQ(duration(999.6e-9), "1.00 us");
  EXPECT_EQ(duration(14.1e-6), "14.1 us");
  EXPECT_EQ(duration(3.2e-3), "3.20 ms");
  EXPECT_EQ(duration(0.9996), "1.00 s");
  EXPECT_EQ(duration(3.25), "3.25 s");
  EXPECT_EQ(duration(59.94), "59.9 s");
  EXPECT_EQ(duration(59.96), "1 min 00 s");
  EXPECT_EQ(duration(125), "2 min 05 s");
  EXPECT_EQ(duration(3599.6), "1 h 00 min");
  EXPECT_EQ(duration(3720), "1 h 02 min");
  EXPECT_EQ(duration(-0.5), "-500 ms");
  EXPECT_EQ(duration(std::numeric_limits<double>::infinity()), "?");
}

TEST(Units, Rates) {
  EXPECT_EQ(rate(409.2, "tokens"), "409 tokens/s");
  EXPECT_EQ(rate(40.94, "tokens"), "40.9 tokens/s");
  EXPECT_EQ(rate(9.994, "tokens"), "9.99 tokens/s");
  EXPECT_EQ(rate(9.996, "tokens"), "10.0 tokens/s");
  EXPECT_EQ(rate(99.96, "tokens"), "100 tokens/s");
  EXPECT_EQ(rate(12345.6, "tokens"), "12346 tokens/s");
  EXPECT_EQ(byte_rate(4.54e12), "4.54 TB/s");
  EXPECT_EQ(byte_rate(21.84e9), "21.8 GB/s");
  EXPECT_EQ(byte_rate(999.6e6), "1.00 GB/s");
  EXPECT_EQ(byte_rate(340e6), "340 MB/s");
  EXPECT_EQ(byte_rate(0), "0.00 B/s");
  EXPECT_EQ(byte_rate(std::numeric_limits<double>::quiet_NaN()), "? B/s");
}

}  // namespace
}  // namespace redline::units
