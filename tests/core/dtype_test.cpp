// Names and widths of element types, and the text of shapes.
#include "core/dtype.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/tensor.hpp"

namespace redline {
namespace {

TEST(DType, NamesGoBothWays) {
  for (DType dtype : {DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::F4E2M1, DType::I32,
                      DType::I64, DType::U8}) {
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("F8_E5M2"), std::nullopt);
  EXPECT_EQ(bits_of(DType::F4E2M1), 4);
  EXPECT_EQ(bits_of(DType::I64), 64);
}

TEST(Tensor, ShapesAsText) {
  EXPECT_EQ(to_text(Shape{5120, 1088}), "[5120, 1088]");
  EXPECT_EQ(to_text(Shape{}), "[]");
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  const TensorView view = dense_view(nullptr, DType::BF16, {2, 3, 4});
  EXPECT_EQ(view.strides[0], 12);
  EXPECT_EQ(view.strides[2], 1);
}

TEST(Error, KeepsKindMessageAndPlace) {
  try {
    ensure(1 + 1 == 3, ErrorKind::BadCheckpoint, "found {}, expected {}", 2, 3);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadCheckpoint);
    EXPECT_STREQ(error.what(), "found 2, expected 3");
    EXPECT_NE(std::string_view(error.where().file_name()).find("dtype_test.cpp"), std::string_view::npos);
  }
  EXPECT_THROW(ensure(false, "a {}", 1), Error);
  EXPECT_EQ(exit_code_of(ErrorKind::BadInput), 2);
}

}  // namespace
}  // namespace redline
