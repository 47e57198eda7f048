// ModelOpt's layout for NVFP4 and FP8 per tensor, the official one for FP8 in blocks.
#include "checkpoint/stored_tensors.hpp"

namespace redline::checkpoint {

std::vector<StoredTensor> stored_tensors(quant::Format format, std::int64_t rows, std::int64_t columns,
                                         Nvfp4InputScale input_scale) {
  switch (format) {
    case quant::Format::Fp8Block:
      return {{".weight", DType::F8E4M3, {rows, columns}},
              {".weight_scale_inv", DType::BF16, {(rows + 127) / 128, (columns + 127) / 128}}};
    case quant::Format::Fp8Tensor:
      return {{".weight", DType::F8E4M3, {rows, columns}},
              {".weight_scale", DType::F32, {}},
              {".input_scale", DType::F32, {}}};
    case quant::Format::Nvfp4: {
      std::vector<StoredTensor> tensors = {{".weight", DType::U8, {rows, columns / 2}},
                                           {".weight_scale", DType::F8E4M3, {rows, columns / 16}},
                                           {".weight_scale_2", DType::F32, {}}};
      if (input_scale == Nvfp4InputScale::Stored) tensors.push_back({".input_scale", DType::F32, {}});
      return tensors;
    }
    default:
      return {{".weight", DType::BF16, {rows, columns}}};
  }
}

}  // namespace redline::checkpoint
