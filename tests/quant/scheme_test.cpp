// Which format a scheme is, and the bytes of real layers counted by hand.
#include "quant/scheme.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace redline::quant {
namespace {

const Scheme kNvfp4{.element = DType::F4E2M1,
                    .block_rows = 1,
                    .block_columns = 16,
                    .scale = DType::F8E4M3,
                    .tensor_scale = true};
const Scheme kFp8Block{
    .element = DType::F8E4M3, .block_rows = 128, .block_columns = 128, .scale = DType::BF16};
const Scheme kFp8Channel{.element = DType::F8E4M3, .scale = DType::BF16, .channel_scale = true};
const Scheme kFp8Tensor{.element = DType::F8E4M3, .tensor_scale = true};

TEST(Scheme, Formats) {
  EXPECT_EQ(format_of(kNvfp4), Format::Nvfp4);
  EXPECT_EQ(format_of(kFp8Block), Format::Fp8Block);
  EXPECT_EQ(format_of(kFp8Channel), Format::Fp8Channel);
  EXPECT_EQ(format_of(kFp8Tensor), Format::Fp8Tensor);
  EXPECT_EQ(format_of(Scheme{}), Format::Bf16);
  EXPECT_EQ(format_of(Scheme{.element = DType::F16}), Format::F16);
  EXPECT_EQ(format_of(Scheme{.element = DType::F32}), Format::F32);
  EXPECT_THROW(format_of(Scheme{.element = DType::I64}), Error);
  EXPECT_STREQ(name_of(Format::Fp8Block), "FP8 128x128");
}

TEST(Scheme, Bytes) {
  EXPECT_EQ(bytes_of(Scheme{}, 3, 5), 30);
  EXPECT_EQ(bytes_of(kNvfp4, 4, 64), 4 * 32 + 4 * 4 + 4);
  EXPECT_EQ(bytes_of(kFp8Block, 129, 300), 129 * 300 + 2 * 3 * 2);
  EXPECT_EQ(bytes_of(kFp8Channel, 7, 9), 63 + 14);
  EXPECT_EQ(bytes_of(kFp8Tensor, 7, 9), 63 + 4);
  EXPECT_EQ(bytes_of(kNvfp4, 5120, 17408), 5120ll * 17408 * 9 / 16 + 4);
}

}  // namespace
}  // namespace redline::quant
