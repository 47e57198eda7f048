// The walk over the parts that the files hold.
#include "model/qwen3_5/quantize_plan.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "checkpoint/inventory.hpp"
#include "core/error.hpp"
#include "model/qwen3_5/take.hpp"
#include "quant/nvfp4.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RewriteUnit;
using checkpoint::Tensor;
using quant::Format;

void refuse_quantised(const TakenModel& model, const Checkpoint& files) {
  std::vector<std::string> found;
  for (const Taken& taken : model.taken) {
    for (std::size_t i = 0; i < kFormats; ++i) {
      const auto format = static_cast<Format>(i);
      const bool plain = format == Format::Bf16 || format == Format::F16 || format == Format::F32;
      if (plain || taken.bytes_of_format[i] == 0) continue;
      std::string text = fmt::format("{} {}", name_of(taken.part->group), quant::name_of(format));
      if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(std::move(text));
    }
  }
  ensure(found.empty(), ErrorKind::BadInput,
         "{} is quantised already ({}); quantize starts from a BF16 checkpoint", files.name(),
         fmt::join(found, ", "));
}

// Matrices that read the same input run as one product and get one scalar of the whole tensor, as ModelOpt
// gives them. "" where a module stands alone.
std::string product_of(std::string_view module) {
  constexpr std::array<std::string_view, 7> kJoined = {"q_proj",    "k_proj",    "v_proj", "in_proj_qkv",
                                                       "in_proj_z", "gate_proj", "up_proj"};
  const std::size_t dot = module.rfind('.');
  const bool joined = dot != std::string_view::npos &&
                      std::find(kJoined.begin(), kJoined.end(), module.substr(dot + 1)) != kJoined.end();
  return joined ? std::string(module.substr(0, dot)) : "";
}

// "language_model.model.embed_tokens.weight" -> "language_model.lm_head": the head of a text model lies
// beside the inner model in one spelling and at the top in the others.
std::string head_on_disk(const Tensor& embedding) {
  constexpr std::string_view kInside = "language_model.model.";
  return embedding.name_on_disk.starts_with(kInside) ? "language_model.lm_head" : std::string(kHead);
}

class Planning {
 public:
  Planning(const Config& config, const Checkpoint& files, Precision precision)
      : config_(config), files_(files), precision_(precision) {}

  QuantizePlan run(const TakenModel& model) {
    for (const Part& part : model.parts) {
      switch (part.kind) {
        case Part::Kind::Plain:
          keep(part.name);
          break;
        case Part::Kind::Weight:
          weight(part);
          break;
        case Part::Kind::Experts:
          experts(part);
          break;
      }
    }
    const bool any = std::any_of(plan_.units.begin(), plan_.units.end(),
                                 [](const RewriteUnit& unit) { return unit.kept == nullptr; });
    ensure(any, ErrorKind::BadInput, "{}: the plan \"{}\" quantises nothing of it", files_.name(),
           name_of(precision_));
    for (const Tensor& tensor : files_.tensors()) keep(&tensor);  // vision, and tables that nobody reads
    return std::move(plan_);
  }

 private:
  void keep(const std::string& name) { keep(files_.find(name)); }
  void keep(const Tensor* tensor) {
    if (tensor != nullptr && done_.insert(tensor).second) plan_.units.push_back({.kept = tensor});
  }

  void weight(const Part& part) {
    const Format format = format_in(part, precision_);
    const Tensor* tensor = files_.find(part.name + ".weight");
    if (format == Format::Bf16) {
      keep(tensor);
      return;
    }
    if (tensor != nullptr) {
      done_.insert(tensor);
      add(part, format, part.name, module_on_disk(*tensor, ".weight"), *tensor, 0, part.shape[0],
          part.shape[1]);
    } else if (part.group == Group::Head && config_.tied_head) {
      const Tensor* embedding = files_.find(std::string(kEmbedding) + ".weight");
      ensure(embedding != nullptr, "a tied head without an embedding passed the inventory");
      add(part, format, part.name, head_on_disk(*embedding), *embedding, 0, part.shape[0], part.shape[1]);
      plan_.unties_head = true;
    }  // else a part of an MTP head that is not whole
  }

  void experts(const Part& part) {
    const Format format = format_in(part, precision_);
    for (const ExpertMatrix& matrix : fused_expert_matrices(part)) {
      const Tensor* tensor = files_.find(fused_expert_module(part, matrix.name));
      if (format == Format::Bf16) keep(tensor);
    }
    for (std::int64_t expert = 0; expert < part.shape[0]; ++expert) {
      std::int64_t rows_before = 0;  // of gate and up in the fused matrix
      for (const ExpertMatrix& matrix : expert_matrices(part)) {
        const std::string module = expert_module(part, expert, matrix.name);
        const bool down = matrix.name == "down_proj";
        const Tensor* fused = files_.find(fused_expert_module(part, down ? "down_proj" : "gate_up_proj"));
        const Tensor* single = files_.find(module + ".weight");
        if (format == Format::Bf16) {
          keep(single);
        } else if (single != nullptr) {
          done_.insert(single);
          add(part, format, module, module_on_disk(*single, ".weight"), *single, 0, matrix.rows,
              matrix.columns);
        } else if (fused != nullptr) {
          done_.insert(fused);
          const std::string_view matrix_in_file = down ? "down_proj" : "gate_up_proj";
          const std::int64_t rows_of_expert = down ? matrix.rows : 2 * matrix.rows;
          const std::int64_t first_row = expert * rows_of_expert + (down ? 0 : rows_before);
          const std::string prefix = module_on_disk(*fused, matrix_in_file);
          add(part, format, module, fmt::format("{}{}.{}", prefix, expert, matrix.name), *fused,
              first_row * matrix.columns, matrix.rows, matrix.columns);
        }
        rows_before += matrix.rows;
      }
    }
  }

  static std::string module_on_disk(const Tensor& tensor, std::string_view end) {
    return std::string(tensor.name_on_disk.substr(0, tensor.name_on_disk.size() - end.size()));
  }

  void add(const Part& part, Format format, const std::string& module, std::string on_disk,
           const Tensor& source, std::int64_t first_element, std::int64_t rows, std::int64_t columns) {
    ensure(source.dtype == DType::BF16, ErrorKind::BadInput,
           "{}: tensor \"{}\" is {}; quantize starts from BF16 weights", files_.name(), source.name_on_disk,
           redline::name_of(source.dtype));
    ensure(format != Format::Nvfp4 || columns % quant::kNvfp4Block == 0, ErrorKind::Unsupported,
           "{}: {} [{}, {}] cannot be NVFP4, whose blocks are {} columns wide; use --to fp8", files_.name(),
           on_disk, rows, columns, quant::kNvfp4Block);
    plan_.units.push_back({.module = std::move(on_disk),
                           .label = std::string(name_of(part.group)),
                           .format = format,
                           .source = &source,
                           .first_byte = static_cast<std::uint64_t>(2 * first_element),
                           .rows = rows,
                           .columns = columns,
                           .shared_scale = format == Format::Nvfp4 ? sharing(module) : -1});
  }

  int sharing(const std::string& module) {
    const std::string product = product_of(module);
    if (product.empty()) return -1;
    if (product != product_) {
      product_ = product;
      ++products_;
    }
    return products_;
  }

  const Config& config_;
  const Checkpoint& files_;
  Precision precision_;
  QuantizePlan plan_;
  std::unordered_set<const Tensor*> done_;
  std::string product_;
  int products_ = -1;
};

}  // namespace

QuantizePlan plan_quantization(const Config& config, const Checkpoint& files, Precision precision) {
  ensure(precision != Precision::Bf16, ErrorKind::BadInput,
         "a BF16 checkpoint is BF16 already; quantize goes to experts, mixed, nvfp4 or fp8");
  ensure(precision != Precision::Experts || config.moe.has_value(), ErrorKind::BadInput,
         "{}: a dense model has no routed experts to quantise; use fp8, mixed or nvfp4", files.name());
  checkpoint::Inventory inventory(files);
  const TakenModel model = take_model(config, inventory);
  refuse_quantised(model, files);
  ensure(model.faults.empty(), ErrorKind::BadCheckpoint, "{}: {}", files.name(),
         model.faults.empty() ? "" : model.faults.front());
  return Planning(config, files, precision).run(model);
}

}  // namespace redline::model::qwen3_5
