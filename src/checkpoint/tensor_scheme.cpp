// The table of docs/formats.md, "Recognising a format", as code: the codes' type picks a row, the row says
// what has to lie beside them and in what shape, and whatever else lies there contradicts it.
#include "checkpoint/tensor_scheme.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "core/error.hpp"

namespace redline::checkpoint {
namespace {

constexpr std::int64_t kFp8Block = 128, kNvfp4Block = 16;

// All that any format puts beside codes.
constexpr std::array<std::string_view, 7> kScales = {
    ".weight_scale", ".weight_scale_inv",   ".weight_scale_2",   ".weight_global_scale",
    ".input_scale",  ".input_global_scale", ".weight_zero_point"};

bool is_float(DType dtype) { return dtype == DType::BF16 || dtype == DType::F16 || dtype == DType::F32; }

std::string describe(const Tensor& tensor) {
  return tensor.has_shape ? fmt::format("{} {}", name_of(tensor.dtype), to_text(tensor.shape))
                          : std::string("not known");
}

// Where only names are known, they are what says the format.
std::string describe_as(const Tensor& codes, const char* format) {
  return codes.has_shape ? fmt::format("{} is {}", describe(codes), format)
                         : fmt::format("the names beside it mean {}", format);
}

class Finder {
 public:
  Finder(const Checkpoint& files, std::string_view module) : files_(files), module_(module) {}

  std::optional<Weight> run() {
    const Tensor* weight = found(".weight");
    const Tensor* packed = found(".weight_packed");
    if (const Tensor* codes = packed != nullptr ? packed : weight) gather_around(*codes);
    if (packed != nullptr) {
      ensure(weight == nullptr, ErrorKind::BadCheckpoint,
             "{}: lies beside \"{}.weight\": a weight has either, not both", place(*packed), module_);
      return nvfp4(*packed, {.format = "NVFP4 of compressed-tensors",
                             .global = ".weight_global_scale",
                             .input = ".input_global_scale",
                             .divides = true});
    }
    if (weight != nullptr) return stored(*weight);
    if (const Tensor* fused = files_.find(module_)) return fused_experts(*fused);
    return std::nullopt;
  }

 private:
  struct Nvfp4Names {
    const char* format;
    std::string_view global, input;
    bool divides;
  };

  const Tensor* found(std::string_view suffix) {
    name_.assign(module_).append(suffix);
    return files_.find(name_);
  }

  // Tensors are sorted by name, so that a module's lie next to each other: one look-up finds all of them.
  void gather_around(const Tensor& codes) {
    const std::span<const Tensor> all = files_.tensors();
    const auto is_ours = [&](const Tensor& tensor) {
      return tensor.name.size() > module_.size() && tensor.name[module_.size()] == '.' &&
             tensor.name.starts_with(module_);
    };
    auto begin = static_cast<std::size_t>(&codes - all.data()), end = begin + 1;
    while (begin > 0 && is_ours(all[begin - 1])) --begin;
    while (end < all.size() && is_ours(all[end])) ++end;
    around_ = all.subspan(begin, end - begin);
  }

  // Only after gather_around.
  const Tensor* beside(std::string_view suffix) const {
    const auto at = std::find_if(around_.begin(), around_.end(), [&](const Tensor& tensor) {
      return tensor.name.substr(module_.size()) == suffix;
    });
    return at == around_.end() ? nullptr : &*at;
  }

  std::string place(const Tensor& tensor) const {
    const std::string file = tensor.file >= 0
                                 ? files_.files()[static_cast<std::size_t>(tensor.file)].filename().string()
                                 : files_.name();
    return fmt::format("{}: tensor \"{}\"", file, tensor.name_on_disk);
  }

  const Tensor* required(std::string_view suffix, const Tensor& codes, const char* format) {
    const Tensor* tensor = beside(suffix);
    ensure(tensor != nullptr, ErrorKind::BadCheckpoint, "{}: {}, which needs \"{}{}\": that is missing",
           place(codes), describe_as(codes, format), module_, suffix);
    return tensor;
  }

  void refuse_others(const Tensor& codes, const char* format, std::initializer_list<std::string_view> known) {
    for (const std::string_view suffix : kScales) {
      if (std::find(known.begin(), known.end(), suffix) != known.end()) continue;
      const Tensor* other = beside(suffix);
      ensure(other == nullptr, ErrorKind::BadCheckpoint, "{}: {}, which has no \"{}{}\": that lies beside it",
             place(codes), describe_as(codes, format), module_, suffix);
    }
  }

  void expect(const Tensor* tensor, std::initializer_list<DType> dtypes, const Shape& shape) const {
    if (tensor == nullptr || !tensor->has_shape) return;
    // One number is written as [] by some exporters and as [1] by others.
    const bool right_shape = tensor->shape == shape || (shape.dims == 0 && tensor->shape == Shape{1});
    const bool right_dtype = std::find(dtypes.begin(), dtypes.end(), tensor->dtype) != dtypes.end();
    if (right_shape && right_dtype) return;
    std::string names;
    for (const DType dtype : dtypes) names.append(names.empty() ? "" : " or ").append(name_of(dtype));
    fail(ErrorKind::BadCheckpoint, "{}: expected {} {}{}, found {}", place(*tensor), names, to_text(shape),
         shape.dims == 0 ? " or [1]" : "", describe(*tensor));
  }

  void expect_matrix(const Tensor& codes) const {
    ensure(codes.shape.dims == 2, ErrorKind::BadCheckpoint, "{}: expected a matrix [out, in], found {}",
           place(codes), describe(codes));
  }

  Weight stored(const Tensor& codes) {
    if (!codes.has_shape) return by_names(codes);
    expect_matrix(codes);
    if (is_float(codes.dtype)) return plain(codes);
    if (codes.dtype == DType::F8E4M3) return fp8(codes);
    ensure(codes.dtype == DType::U8, ErrorKind::BadCheckpoint,
           "{}: expected BF16, F16, F32, F8_E4M3 or U8, found {}", place(codes), describe(codes));
    return nvfp4(codes, {.format = "NVFP4 of ModelOpt",
                         .global = ".weight_scale_2",
                         .input = ".input_scale",
                         .divides = false});
  }

  Weight by_names(const Tensor& codes) {
    if (beside(".weight_scale_2") != nullptr) {
      return nvfp4(codes, {.format = "NVFP4 of ModelOpt",
                           .global = ".weight_scale_2",
                           .input = ".input_scale",
                           .divides = false});
    }
    if (beside(".weight_scale") != nullptr || beside(".weight_scale_inv") != nullptr) return fp8(codes);
    return plain(codes);
  }

  Weight plain(const Tensor& codes) {
    refuse_others(codes, "not quantised", {});
    Weight weight{.codes = &codes};
    weight.scheme.element = codes.dtype;
    if (codes.has_shape) {
      weight.rows = codes.shape[0];
      weight.columns = codes.shape[1];
    }
    return weight;
  }

  // Codes are U8 [rows, columns / 2].
  Weight nvfp4(const Tensor& codes, const Nvfp4Names& names) {
    Weight weight{.codes = &codes};
    weight.scheme = {.element = DType::F4E2M1,
                     .block_rows = 1,
                     .block_columns = static_cast<int>(kNvfp4Block),
                     .scale = DType::F8E4M3,
                     .tensor_scale = true,
                     .tensor_scale_divides = names.divides};
    if (codes.has_shape) {
      expect_matrix(codes);
      ensure(codes.dtype == DType::U8, ErrorKind::BadCheckpoint,
             "{}: expected U8 with two codes to a byte, found {}", place(codes), describe(codes));
      weight.rows = codes.shape[0];
      weight.columns = 2 * codes.shape[1];
    }
    weight.scale = required(".weight_scale", codes, names.format);
    weight.tensor_scale = required(names.global, codes, names.format);
    weight.input_scale = beside(names.input);
    refuse_others(codes, names.format, {".weight_scale", names.global, names.input});
    if (!codes.has_shape) return weight;
    ensure(weight.columns % kNvfp4Block == 0, ErrorKind::BadCheckpoint,
           "{}: {} holds {} codes a row, expected whole blocks of {}", place(codes), describe(codes),
           weight.columns, kNvfp4Block);
    expect(weight.scale, {DType::F8E4M3}, {weight.rows, weight.columns / kNvfp4Block});
    expect(weight.tensor_scale, {DType::F32}, {});
    expect(weight.input_scale, {DType::F32}, {});
    return weight;
  }

  Weight fp8(const Tensor& codes) {
    Weight weight{.codes = &codes};
    weight.scheme.element = DType::F8E4M3;
    if (codes.has_shape) {
      weight.rows = codes.shape[0];
      weight.columns = codes.shape[1];
    }
    weight.input_scale = beside(".input_scale");
    expect(weight.input_scale, {DType::F32}, {});
    if (const Tensor* inverse = beside(".weight_scale_inv")) {
      refuse_others(codes, "FP8 in blocks of 128x128", {".weight_scale_inv", ".input_scale"});
      weight.scale = inverse;
      weight.scheme.block_rows = weight.scheme.block_columns = static_cast<int>(kFp8Block);
      weight.scheme.scale = inverse->has_shape ? inverse->dtype : DType::BF16;
      const auto blocks = [](std::int64_t size) { return (size + kFp8Block - 1) / kFp8Block; };
      if (codes.has_shape)
        expect(inverse, {DType::BF16, DType::F32}, {blocks(weight.rows), blocks(weight.columns)});
      return weight;
    }
    const Tensor* scale = beside(".weight_scale");
    ensure(scale != nullptr, ErrorKind::BadCheckpoint,
           "{}: {} needs \"{}.weight_scale\" or \"{}.weight_scale_inv\": both are missing", place(codes),
           describe(codes), module_, module_);
    refuse_others(codes, "FP8 with weight_scale", {".weight_scale", ".input_scale"});
    // Per tensor and per channel have the same names. Where only names are known: ModelOpt's per-tensor files
    // carry input scales; the per-channel ones of compressed-tensors quantise activations as they come and
    // carry none.
    const bool whole_tensor = scale->has_shape ? scale->shape.dims < 2 : weight.input_scale != nullptr;
    if (whole_tensor) {
      expect(scale, {DType::F32}, {});
      weight.scheme.tensor_scale = true;
      weight.tensor_scale = scale;
    } else {
      if (codes.has_shape) expect(scale, {DType::BF16, DType::F32}, {weight.rows, 1});
      weight.scheme.channel_scale = true;
      weight.scheme.scale = scale->has_shape ? scale->dtype : DType::BF16;
      weight.scale = scale;
    }
    return weight;
  }

  // All experts in one tensor [experts, out, in]; not quantised in any file that the family's makers publish.
  std::optional<Weight> fused_experts(const Tensor& codes) {
    for (const std::string_view suffix :
         {"_weight_scale", "_weight_scale_2", "_weight_scale_inv", "_scale_inv", "_scale"}) {
      ensure(found(suffix) == nullptr, ErrorKind::Unsupported,
             "{}: experts fused in one tensor and quantised (\"{}{}\" lies beside it) are not read; use a "
             "checkpoint with one tensor per expert",
             place(codes), module_, suffix);
    }
    Weight weight{.codes = &codes};
    weight.scheme.element = codes.dtype;
    if (!codes.has_shape) return weight;
    ensure(codes.shape.dims == 3 && is_float(codes.dtype), ErrorKind::BadCheckpoint,
           "{}: expected BF16, F16 or F32 [experts, out, in], found {}", place(codes), describe(codes));
    weight.count = codes.shape[0];
    weight.rows = codes.shape[1];
    weight.columns = codes.shape[2];
    return weight;
  }

  const Checkpoint& files_;
  std::string_view module_;
  std::span<const Tensor> around_;  // all of "module.…"
  std::string name_;                // of the tensor looked for last; one buffer for all look-ups
};

}  // namespace

std::optional<Weight> find_weight(const Checkpoint& files, std::string_view module) {
  return Finder(files, module).run();
}

}  // namespace redline::checkpoint
