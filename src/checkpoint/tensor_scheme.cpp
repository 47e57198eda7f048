// The table of docs/formats.md, "Recognising a format", as code.
#include "checkpoint/tensor_scheme.hpp"

#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

constexpr std::int64_t kFp8Block = 128, kNvfp4Block = 16;

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

std::string place_of(const Checkpoint& files, const Tensor& tensor) {
  const std::string file = tensor.file >= 0
                               ? files.files()[static_cast<std::size_t>(tensor.file)].filename().string()
                               : files.name();
  return fmt::format("{}: tensor \"{}\"", file, tensor.name_on_disk);
}

class Finder {
 public:
  Finder(const Checkpoint& files, std::string_view module) : files_(files), module_(module) {}

  std::optional<Weight> run() {
    if (const Tensor* packed = beside(".weight_packed")) {
      refuse_beside(*packed, ".weight");
      return compressed_nvfp4(*packed);
    }
    if (const Tensor* weight = beside(".weight")) return stored(*weight);
    if (const Tensor* fused = files_.find(module_)) return fused_experts(*fused);
    return std::nullopt;
  }

 private:
  const Tensor* beside(std::string_view suffix) {
    name_.assign(module_).append(suffix);
    return files_.find(name_);
  }

  const Tensor& required(std::string_view suffix, const Tensor& codes, const char* format) {
    const Tensor* tensor = beside(suffix);
    ensure(tensor != nullptr, ErrorKind::BadCheckpoint,
           "{}: is {} and looks like {}, but \"{}{}\" is missing", place_of(files_, codes),
           codes.has_shape ? fmt::format("{} {}", name_of(codes.dtype), to_text(codes.shape))
                           : std::string("there"),
           format, module_, suffix);
    return *tensor;
  }

  void refuse_beside(const Tensor& codes, std::string_view suffix) {
    const Tensor* other = beside(suffix);
    ensure(other == nullptr, ErrorKind::BadCheckpoint,
           "{}: and \"{}{}\" are both there; they belong to different formats", place_of(files_, codes),
           module_, suffix);
  }

  void expect(const Tensor& tensor, std::initializer_list<DType> types, const Shape& shape) {
    if (!tensor.has_shape) return;
    bool right = tensor.shape == shape;
    bool typed = false;
    std::string names;
    for (const DType type : types) {
      typed = typed || tensor.dtype == type;
      names += (names.empty() ? "" : " or ") + std::string(name_of(type));
    }
    // A single number is written as [] by some exporters and as [1] by others.
    if (shape.dims == 0) right = tensor.shape.elements() == 1 && tensor.shape.dims <= 1;
    ensure(right && typed, ErrorKind::BadCheckpoint, "{}: expected {} {}, found {} {}",
           place_of(files_, tensor), names, to_text(shape), name_of(tensor.dtype), to_text(tensor.shape));
  }

  void expect_matrix(const Tensor& tensor) {
    if (!tensor.has_shape) return;
    ensure(tensor.shape.dims == 2, ErrorKind::BadCheckpoint, "{}: expected a matrix, found {} {}",
           place_of(files_, tensor), name_of(tensor.dtype), to_text(tensor.shape));
  }

  // Codes of NVFP4: U8 [rows, columns / 2].
  Weight nvfp4(const Tensor& codes, const char* format, std::string_view global, bool divides) {
    Weight weight;
    weight.scheme = {.element = DType::F4E2M1,
                     .block_rows = 1,
                     .block_columns = static_cast<int>(kNvfp4Block),
                     .scale = DType::F8E4M3,
                     .tensor_scale = true,
                     .tensor_scale_divides = divides};
    weight.codes = &codes;
    weight.scale = &required(".weight_scale", codes, format);
    weight.tensor_scale = &required(global, codes, format);
    if (codes.has_shape) {
      expect_matrix(codes);
      ensure(codes.dtype == DType::U8, ErrorKind::BadCheckpoint,
             "{}: expected U8 (two codes to a byte), found {} {}", place_of(files_, codes),
             name_of(codes.dtype), to_text(codes.shape));
      weight.rows = codes.shape[0];
      weight.columns = 2 * codes.shape[1];
      ensure(weight.columns % kNvfp4Block == 0, ErrorKind::BadCheckpoint,
             "{}: {} columns are not a whole number of NVFP4 blocks of {}", place_of(files_, codes),
             weight.columns, kNvfp4Block);
      expect(*weight.scale, {DType::F8E4M3}, {weight.rows, weight.columns / kNvfp4Block});
      expect(*weight.tensor_scale, {DType::F32}, {});
    }
    return weight;
  }

  Weight compressed_nvfp4(const Tensor& packed) {
    Weight weight = nvfp4(packed, "NVFP4 of compressed-tensors", ".weight_global_scale", true);
    weight.input_scale = input_scale(".input_global_scale");
    return weight;
  }

  const Tensor* input_scale(std::string_view suffix) {
    const Tensor* tensor = beside(suffix);
    if (tensor != nullptr) expect(*tensor, {DType::F32}, {});
    return tensor;
  }

  Weight stored(const Tensor& codes) {
    // Without shapes only the names beside it tell; `codes.dtype` means nothing then.
    if (!codes.has_shape) return by_names(codes);
    expect_matrix(codes);
    switch (codes.dtype) {
      case DType::U8: {
        Weight weight = nvfp4(codes, "NVFP4 of ModelOpt", ".weight_scale_2", false);
        weight.input_scale = input_scale(".input_scale");
        return weight;
      }
      case DType::F8E4M3:
        return fp8(codes);
      case DType::BF16:
      case DType::F16:
      case DType::F32:
        return plain(codes);
      default:
        break;
    }
    fail(ErrorKind::BadCheckpoint, "{}: {} {} is no weight; expected BF16, F16, F32, F8_E4M3 or U8",
         place_of(files_, codes), name_of(codes.dtype), to_text(codes.shape));
  }

  Weight plain(const Tensor& codes) {
    for (const std::string_view suffix :
         {".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".weight_global_scale"}) {
      ensure(beside(suffix) == nullptr, ErrorKind::BadCheckpoint,
             "{}: is {}, yet \"{}{}\" lies beside it as if it were quantised", place_of(files_, codes),
             name_of(codes.dtype), module_, suffix);
    }
    Weight weight;
    weight.scheme.element = codes.dtype;
    weight.rows = codes.shape[0];
    weight.columns = codes.shape[1];
    weight.codes = &codes;
    return weight;
  }

  Weight fp8(const Tensor& codes) {
    Weight weight;
    weight.rows = codes.shape[0];
    weight.columns = codes.shape[1];
    weight.codes = &codes;
    weight.scheme.element = DType::F8E4M3;
    if (const Tensor* inverse = beside(".weight_scale_inv")) {
      refuse_beside(codes, ".weight_scale");
      weight.scale = inverse;
      expect(*inverse, {DType::BF16, DType::F32},
             {blocks(weight.rows, kFp8Block), blocks(weight.columns, kFp8Block)});
      weight.scheme.block_rows = weight.scheme.block_columns = static_cast<int>(kFp8Block);
      weight.scheme.scale = inverse->dtype;
    } else {
      const Tensor& scale = required(".weight_scale", codes, "FP8");
      if (scale.shape.elements() == 1 && scale.shape.dims <= 1) {
        expect(scale, {DType::F32, DType::BF16}, {});
        weight.scheme.tensor_scale = true;
        weight.tensor_scale = &scale;
      } else {
        expect(scale, {DType::BF16, DType::F32}, {weight.rows, 1});
        weight.scheme.channel_scale = true;
        weight.scheme.scale = scale.dtype;
        weight.scale = &scale;
      }
    }
    weight.input_scale = input_scale(".input_scale");
    return weight;
  }

  Weight by_names(const Tensor& codes) {
    if (beside(".weight_scale_2") != nullptr) {
      Weight weight = nvfp4(codes, "NVFP4 of ModelOpt", ".weight_scale_2", false);
      weight.input_scale = beside(".input_scale");
      return weight;
    }
    Weight weight;
    weight.codes = &codes;
    if (const Tensor* inverse = beside(".weight_scale_inv")) {
      weight.scale = inverse;
      weight.scheme = {.element = DType::F8E4M3,
                       .block_rows = static_cast<int>(kFp8Block),
                       .block_columns = static_cast<int>(kFp8Block),
                       .scale = DType::BF16};
    } else if (const Tensor* scale = beside(".weight_scale")) {
      // Per tensor and per channel have the same names. ModelOpt's per-tensor files carry input scales, the
      // per-channel ones of compressed-tensors quantise activations as they come and carry none.
      weight.input_scale = beside(".input_scale");
      if (weight.input_scale != nullptr) {
        weight.tensor_scale = scale;
        weight.scheme = {.element = DType::F8E4M3, .tensor_scale = true};
      } else {
        weight.scale = scale;
        weight.scheme = {.element = DType::F8E4M3, .scale = DType::BF16, .channel_scale = true};
      }
    }
    return weight;
  }

  // All experts in one tensor [experts, out, in], BF16 in every published file.
  std::optional<Weight> fused_experts(const Tensor& codes) {
    for (const std::string_view suffix :
         {"_weight_scale", "_weight_scale_2", "_weight_scale_inv", "_scale_inv"}) {
      ensure(beside(suffix) == nullptr, ErrorKind::Unsupported,
             "{}: experts packed in one tensor and quantised (\"{}{}\" lies beside it) are not read; export "
             "them one by one",
             place_of(files_, codes), module_, suffix);
    }
    Weight weight;
    weight.codes = &codes;
    if (!codes.has_shape) return weight;
    if (codes.shape.dims != 3) return std::nullopt;  // a vector of that name is no weight
    const bool floats = codes.dtype == DType::BF16 || codes.dtype == DType::F16 || codes.dtype == DType::F32;
    ensure(floats, ErrorKind::BadCheckpoint, "{}: expected BF16, F16 or F32 experts, found {} {}",
           place_of(files_, codes), name_of(codes.dtype), to_text(codes.shape));
    weight.scheme.element = codes.dtype;
    weight.count = codes.shape[0];
    weight.rows = codes.shape[1];
    weight.columns = codes.shape[2];
    return weight;
  }

  const Checkpoint& files_;
  std::string_view module_;
  std::string name_;  // of the tensor looked for last; one buffer for all look-ups
};

}  // namespace

std::optional<Weight> find_weight(const Checkpoint& files, std::string_view module) {
  return Finder(files, module).run();
}

}  // namespace redline::checkpoint
