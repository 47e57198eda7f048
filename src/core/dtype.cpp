// Widths and names of element types.
#include "core/dtype.hpp"

#include <array>
#include <utility>

namespace redline {
namespace {

struct Row {
  DType dtype;
  int bits;
  std::string_view name;
};

constexpr std::array<Row, 8> kRows = {{{DType::F32, 32, "F32"},
                                       {DType::BF16, 16, "BF16"},
                                       {DType::F16, 16, "F16"},
                                       {DType::F8E4M3, 8, "F8_E4M3"},
                                       {DType::F4E2M1, 4, "F4_E2M1"},
                                       {DType::I32, 32, "I32"},
                                       {DType::I64, 64, "I64"},
                                       {DType::U8, 8, "U8"}}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

}  // namespace

int bits_of(DType dtype) { return kRows[static_cast<std::size_t>(dtype)].bits; }

std::string_view name_of(DType dtype) { return kRows[static_cast<std::size_t>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view on_disk) {
  for (const Row& row : kRows) {
    if (row.name == on_disk) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace redline
