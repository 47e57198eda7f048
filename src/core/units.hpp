// Bytes, counts, times and rates as people read them. For reports and logs only: rounded, never parsed back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redline::units {

std::string binary_bytes(std::uint64_t bytes);   // "512 B", "1.5 KiB", "233.9 GiB": memory
std::string decimal_bytes(std::uint64_t bytes);  // "512 B", "1.5 kB", "21.8 GB": files and traffic
std::string grouped(std::uint64_t count);        // "371,444"
std::string short_count(
    std::uint64_t count);              // "950", "396.8 B" (thousands K, millions M, billions B, trillions T)
std::string duration(double seconds);  // "830 ns", "14.1 us", "3.25 s", "2 min 05 s", "1 h 02 min"
std::string rate(double per_second, std::string_view what);  // ("tokens") "409 tokens/s", "40.9 tokens/s"
std::string byte_rate(double bytes_per_second);              // "4.54 TB/s", "21.8 GB/s", "340 MB/s"

}  // namespace redline::units
