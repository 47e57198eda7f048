// The walk over the list of parts.
#include "model/qwen3_5/take.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/error.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Inventory;
using checkpoint::Tensor;
using checkpoint::Weight;

bool holds_any(const Checkpoint& files, std::string_view prefix) {
  const std::span<const Tensor> tensors = files.tensors();
  const auto at =
      std::lower_bound(tensors.begin(), tensors.end(), prefix,
                       [](const Tensor& tensor, std::string_view name) { return tensor.name < name; });
  return at != tensors.end() && at->name.starts_with(prefix);
}

std::string place_of(const Checkpoint& files, const Tensor& tensor) {
  const std::string file = tensor.file >= 0
                               ? files.files()[static_cast<std::size_t>(tensor.file)].filename().string()
                               : files.name();
  return fmt::format("{}: tensor \"{}\"", file, tensor.name_on_disk);
}

class Walk {
 public:
  Walk(const Config& config, Inventory& inventory, TakenModel& model)
      : config_(config), inventory_(inventory), files_(inventory.files()), model_(model) {}

  void run() {
    model_.mtp_layers = config_.mtp_layers;
    const bool has_mtp = holds_any(files_, kMtpPrefix);
    Config config = config_;
    if (has_mtp && config.mtp_layers == 0) {
      config.mtp_layers = model_.mtp_layers = 1;
      model_.notes.push_back(
          "config.json declares no MTP layer (mtp_num_hidden_layers), the files hold one: the tensors win");
    }
    model_.parts = parts_of(config);
    model_.taken.reserve(model_.parts.size());
    for (const Part& part : model_.parts) {
      Taken taken{.part = &part};
      if (part.group != Group::Mtp || has_mtp) {
        take(part, taken);
      } else if (part.kind == Part::Kind::Experts) {
        layout_of(part, taken);
      }
      model_.taken.push_back(taken);
    }
    take_kv_scales();
    take_the_rest();
    finish();
  }

 private:
  void take(const Part& part, Taken& taken) {
    switch (part.kind) {
      case Part::Kind::Plain:
        take_plain(part, taken);
        break;
      case Part::Kind::Weight:
        take_weight(part, taken);
        break;
      case Part::Kind::Experts:
        take_experts(part, taken);
        break;
    }
  }

  void take_plain(const Part& part, Taken& taken) {
    const Tensor* tensor = inventory_.take(part.name);
    if (tensor == nullptr) {
      miss(taken, part.name);
      return;
    }
    const bool floats =
        tensor->dtype == DType::BF16 || tensor->dtype == DType::F32 || tensor->dtype == DType::F16;
    if (tensor->has_shape && (tensor->shape != part.shape || !floats)) {
      fault(fmt::format("{}: expected BF16, F16 or F32 {} (from config.json), found {} {}",
                        place_of(files_, *tensor), to_text(part.shape), name_of(tensor->dtype),
                        to_text(tensor->shape)));
      taken.broken_tensors = 1;
      return;
    }
    const DType dtype = tensor->has_shape ? tensor->dtype : DType::BF16;
    add(taken, {.element = dtype}, part.shape.elements(), part.shape.elements() * bits_of(dtype) / 8, 0, 1);
  }

  void take_weight(const Part& part, Taken& taken) {
    const bool may_be_absent = part.name == kHead && config_.tied_head;
    take_module(part.name, 1, part.shape[0], part.shape[1], taken, may_be_absent);
  }

  void take_experts(const Part& part, Taken& taken) {
    layout_of(part, taken);
    const std::int64_t experts = part.shape[0];
    if (taken.fused) {
      for (const ExpertMatrix& matrix : fused_expert_matrices(part)) {
        take_module(fused_expert_module(part, matrix.name), experts, matrix.rows, matrix.columns, taken,
                    false);
      }
      return;
    }
    const std::vector<ExpertMatrix> matrices = expert_matrices(part);
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      for (const ExpertMatrix& matrix : matrices) {
        take_module(expert_module(part, expert, matrix.name), 1, matrix.rows, matrix.columns, taken, false);
      }
    }
  }

  // Where the files hold neither layout, the one that the layer before had.
  void layout_of(const Part& part, Taken& taken) {
    const bool fused =
        holds_any(files_, part.name + ".gate_up_proj") || holds_any(files_, part.name + ".down_proj");
    if (fused || holds_any(files_, part.name + ".")) fused_ = fused;
    taken.fused = fused_;
    taken.matrices_needed = fused_ ? 2 : 3 * part.shape[0];
  }

  void take_module(const std::string& module, std::int64_t count, std::int64_t rows, std::int64_t columns,
                   Taken& taken, bool may_be_absent) {
    std::optional<Weight> weight;
    try {
      weight = inventory_.take_weight(module);
    } catch (const Error& error) {
      fault(error.what());
      ++taken.broken_tensors;
      return;
    }
    if (!weight) {
      if (!may_be_absent) miss(taken, taken.fused ? module : module + ".weight");
      return;
    }
    std::int64_t bytes = 0;
    std::int64_t tensors = 0;
    for (const Tensor* tensor : {weight->codes, weight->scale, weight->tensor_scale, weight->input_scale}) {
      if (tensor == nullptr) continue;
      ++tensors;
      bytes += static_cast<std::int64_t>(tensor->bytes);
    }
    const bool known_shape = weight->rows > 0;
    if (known_shape && (weight->count != count || weight->rows != rows || weight->columns != columns)) {
      const auto text = [](std::int64_t n, std::int64_t out, std::int64_t in) {
        return n > 1 ? to_text(Shape{n, out, in}) : to_text(Shape{out, in});
      };
      fault(fmt::format("{}: expected a weight of {} (from config.json), found {}",
                        place_of(files_, *weight->codes), text(count, rows, columns),
                        text(weight->count, weight->rows, weight->columns)));
      taken.broken_tensors += tensors;
      return;
    }
    std::int64_t idle_bytes = 0;
    if (const Tensor* scale = weight->input_scale) {
      idle_bytes = known_shape ? static_cast<std::int64_t>(scale->bytes) : 4;
    }
    if (!known_shape) bytes = count * quant::bytes_of(weight->scheme, rows, columns) + idle_bytes;
    add(taken, weight->scheme, count * rows * columns, bytes, idle_bytes, tensors);
  }

  static void add(Taken& taken, const quant::Scheme& scheme, std::int64_t parameters, std::int64_t bytes,
                  std::int64_t idle_bytes, std::int64_t tensors) {
    ++taken.matrices;
    taken.tensors += tensors;
    taken.parameters += parameters;
    taken.bytes += bytes;
    taken.idle_bytes += idle_bytes;
    taken.bytes_of_format[static_cast<std::size_t>(quant::format_of(scheme))] += bytes;
  }

  void miss(const Taken& taken, std::string name) {
    if (taken.part->group == Group::Mtp) {
      model_.mtp_missing.push_back(std::move(name));
    } else {
      inventory_.miss(std::move(name));
    }
  }

  // ModelOpt hangs the scales on the projections, compressed-tensors on the attention itself.
  void take_kv_scales() {
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      if (config_.mixers[static_cast<std::size_t>(i)] != Mixer::Attention) continue;
      const std::string attention = fmt::format("model.layers.{}.self_attn", i);
      take_scale(attention + ".k_proj.k_scale", attention + ".k_scale");
      take_scale(attention + ".v_proj.v_scale", attention + ".v_scale");
    }
  }

  void take_scale(const std::string& name, const std::string& other_name) {
    const Tensor* tensor = inventory_.take(name);
    if (tensor == nullptr) tensor = inventory_.take(other_name);
    if (tensor == nullptr) return;
    if (tensor->has_shape && tensor->shape.elements() != 1) {
      fault(fmt::format("{}: expected a single number, found {} {}", place_of(files_, *tensor),
                        name_of(tensor->dtype), to_text(tensor->shape)));
      return;
    }
    ++model_.kv_scales;
    model_.kv_scale_bytes += tensor->has_shape ? static_cast<std::int64_t>(tensor->bytes) : 4;
  }

  // What is known and not used, and what is counted as a whole.
  void take_the_rest() {
    std::unordered_map<std::string, std::int64_t> vision_elements;
    for (const Part& part : vision_parts_of(config_))
      vision_elements.emplace(part.name, part.shape.elements());
    Taken& vision = model_.vision;
    for (const Tensor& tensor : files_.tensors()) {
      if (tensor.name.starts_with(kMtpPrefix)) ++model_.mtp_tensors;
      if (tensor.name.ends_with("rotary_emb.inv_freq")) inventory_.mark(tensor);
      if (!tensor.name.starts_with(kVisionPrefix)) continue;
      inventory_.mark(tensor);
      ++vision.tensors;
      std::int64_t elements = tensor.has_shape ? tensor.shape.elements() : 0;
      if (!tensor.has_shape) {
        if (const auto known = vision_elements.find(std::string(tensor.name));
            known != vision_elements.end()) {
          elements = known->second;
        }
      }
      const std::int64_t bytes = tensor.has_shape ? static_cast<std::int64_t>(tensor.bytes) : 2 * elements;
      vision.parameters += elements;
      vision.bytes += bytes;
      const DType dtype = tensor.has_shape ? tensor.dtype : DType::BF16;
      if (dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16) {
        vision.bytes_of_format[static_cast<std::size_t>(quant::format_of({.element = dtype}))] += bytes;
      }
    }
    if (vision.tensors > 0) {
      model_.notes.push_back(
          fmt::format("{} vision tensors are known and skipped: the engine reads text only", vision.tensors));
    }
  }

  // One broken export breaks every expert alike; a hundred thousand lines help nobody.
  void fault(std::string sentence) {
    if (++faults_ <= kFaultsShown) model_.faults.push_back(std::move(sentence));
  }

  void finish() {
    if (faults_ > kFaultsShown)
      model_.faults.push_back(fmt::format("… and {} more tensors with such faults", faults_ - kFaultsShown));
    for (std::string& sentence : inventory_.troubles()) model_.faults.push_back(std::move(sentence));
  }

  static constexpr std::int64_t kFaultsShown = 20;

  const Config& config_;
  Inventory& inventory_;
  const Checkpoint& files_;
  TakenModel& model_;
  bool fused_ = false;
  std::int64_t faults_ = 0;
};

}  // namespace

TakenModel take_model(const Config& config, Inventory& inventory) {
  TakenModel model;
  Walk(config, inventory, model).run();
  return model;
}

}  // namespace redline::model::qwen3_5
