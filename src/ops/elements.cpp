// Element access by type.
#include "ops/elements.hpp"

#include <cstring>

#include "core/error.hpp"
#include "core/numbers.hpp"

namespace redline::ops {
namespace {

std::int64_t offset_of(const TensorView& view, const Index& index) {
  std::int64_t offset = 0;
  for (int d = 0; d < view.shape.dims; ++d) {
    const auto i = static_cast<std::size_t>(d);
    offset += index[i] * view.strides[i];
  }
  return offset;
}

template <class T>
T get(const TensorView& view, std::int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
void put(const TensorView& view, std::int64_t offset, T value) {
  std::memcpy(static_cast<char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

}  // namespace

double load(const TensorView& view, const Index& index) {
  const std::int64_t at = offset_of(view, index);
  switch (view.dtype) {
    case DType::F32:
      return get<float>(view, at);
    case DType::BF16:
      return from_bf16(get<std::uint16_t>(view, at));
    case DType::F16:
      return from_f16(get<std::uint16_t>(view, at));
    case DType::F8E4M3:
      return from_e4m3(get<std::uint8_t>(view, at));
    case DType::I32:
      return get<std::int32_t>(view, at);
    case DType::I64:
      return static_cast<double>(get<std::int64_t>(view, at));
    case DType::U8:
      return get<std::uint8_t>(view, at);
    case DType::F4E2M1:
      break;
  }
  fail(ErrorKind::Internal, "no single element of type {} can be read", name_of(view.dtype));
}

void store(const TensorView& view, const Index& index, double value) {
  const std::int64_t at = offset_of(view, index);
  switch (view.dtype) {
    case DType::F32:
      return put(view, at, static_cast<float>(value));
    case DType::BF16:
      return put(view, at, to_bf16(static_cast<float>(value)));
    case DType::F16:
      return put(view, at, to_f16(static_cast<float>(value)));
    case DType::F8E4M3:
      return put(view, at, to_e4m3(static_cast<float>(value)));
    case DType::I32:
      return put(view, at, static_cast<std::int32_t>(value));
    case DType::I64:
      return put(view, at, static_cast<std::int64_t>(value));
    case DType::U8:
      return put(view, at, static_cast<std::uint8_t>(value));
    case DType::F4E2M1:
      break;
  }
  fail(ErrorKind::Internal, "no single element of type {} can be written", name_of(view.dtype));
}

std::int32_t load_int(const TensorView& view, std::int64_t i) {
  return get<std::int32_t>(view, i * view.strides[0]);
}

}  // namespace redline::ops
