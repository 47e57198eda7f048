// The element types that tensors of the family are stored in, and what a reader must know of each: width and
// name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace redline {

// Names on disk are safetensors': F8_E4M3 is the "fn" kind (no infinities, max 448). F4E2M1 has no name of
// its own on disk; two codes lie in one U8 there.
enum class DType : std::uint8_t { F32, BF16, F16, F8E4M3, F4E2M1, I32, I64, U8 };

int bits_of(DType dtype);
std::string_view name_of(DType dtype);                           // "BF16", "F8_E4M3", …
std::optional<DType> dtype_from_name(std::string_view on_disk);  // nullopt: not one of ours

}  // namespace redline
