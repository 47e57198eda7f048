// Adds up what take_model found.
#include "model/qwen3_5/census.hpp"

#include <algorithm>
#include <array>

#include "checkpoint/inventory.hpp"
#include "core/error.hpp"
#include "model/qwen3_5/take.hpp"

namespace redline::model::qwen3_5 {
namespace {

using checkpoint::Bytes;
using checkpoint::Checkpoint;
using checkpoint::QuantizationConfig;
using FormatBytes = std::array<std::int64_t, kFormats>;

bool is_quantised(quant::Format format) {
  return format != quant::Format::Bf16 && format != quant::Format::F16 && format != quant::Format::F32;
}

void add_to(FormatBytes& sum, const FormatBytes& more) {
  for (std::size_t i = 0; i < kFormats; ++i) sum[i] += more[i];
}

bool empty(const FormatBytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::int64_t value) { return value == 0; });
}

std::string joined_names(const FormatBytes& bytes) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (std::size_t i = 0; i < kFormats; ++i) {
    if (bytes[i] > 0) found.emplace_back(-bytes[i], quant::name_of(static_cast<quant::Format>(i)));
  }
  std::sort(found.begin(), found.end());
  std::string text;
  for (const auto& [order, name] : found) text += fmt::format("{}{}", text.empty() ? "" : " + ", name);
  return text;
}

// Of a weight of `experts`, what one token uses. Exact: all experts have the same size.
std::int64_t chosen_share(std::int64_t all, const Config& config) {
  return config.moe ? all / config.moe->experts * config.moe->chosen +
                          all % config.moe->experts * config.moe->chosen / config.moe->experts
                    : all;
}

// Does the config say the same of a group's modules as the tensors do?
class Agreement {
 public:
  Agreement(const QuantizationConfig& declared, bool names_only)
      : declared_(declared), names_only_(names_only) {}

  void ask(const Taken& taken) {
    const Part& part = *taken.part;
    if (part.kind == Part::Kind::Plain || taken.matrices == 0) return;
    std::string module = part.name;
    // The experts of a layer are published alike, so the first one speaks for all.
    if (part.kind == Part::Kind::Experts) {
      module = taken.fused ? fused_expert_module(part, "gate_up_proj") : expert_module(part, 0, "gate_proj");
    }
    const std::optional<quant::Format> said = declared_.declared(module);
    if (!said) {
      ++unknown_;
      return;
    }
    for (std::size_t i = 0; i < kFormats; ++i) {
      const auto found = static_cast<quant::Format>(i);
      if (taken.bytes_of_format[i] == 0 || same(*said, found)) continue;
      if (contradictions_++ == 0) {
        first_module_ = module;
        first_said_ = *said;
        first_found_ = found;
      }
      return;
    }
    ++agreed_;
  }

  std::optional<bool> result() const {
    if (contradictions_ > 0) return false;
    if (unknown_ > 0 && agreed_ == 0) return std::nullopt;
    return true;
  }

  std::string line(Group group) const {
    const std::string source =
        declared_.source().empty() ? "config.json, without quantization_config," : declared_.source();
    return fmt::format("{} declares {} where the files hold {}, in {} {} of {} (first: {}): the tensors win",
                       source, quant::name_of(first_said_), quant::name_of(first_found_), contradictions_,
                       contradictions_ == 1 ? "module" : "modules", name_of(group), first_module_);
  }

 private:
  bool same(quant::Format said, quant::Format found) const {
    if (said == found || (!is_quantised(said) && !is_quantised(found))) return true;
    // Names alone do not tell one FP8 scale from a column of them.
    const auto one_scale_name = [](quant::Format format) {
      return format == quant::Format::Fp8Tensor || format == quant::Format::Fp8Channel;
    };
    return names_only_ && one_scale_name(said) && one_scale_name(found);
  }

  const QuantizationConfig& declared_;
  bool names_only_;
  std::int64_t contradictions_ = 0, agreed_ = 0, unknown_ = 0;
  std::string first_module_;
  quant::Format first_said_ = quant::Format::Bf16, first_found_ = quant::Format::Bf16;
};

class Counting {
 public:
  Counting(const Config& config, const Checkpoint& files, const QuantizationConfig* declared,
           const TakenModel& model)
      : config_(config), files_(files), declared_(declared), model_(model) {}

  Census run(std::int64_t context) {
    census_.notes = declared_ != nullptr ? declared_->notes() : std::vector<std::string>{};
    for (const std::string& note : model_.notes) census_.notes.push_back(note);
    for (int i = 0; i < kGroups; ++i) count_group(static_cast<Group>(i));
    tie_head();
    count_mtp();
    count_kv();
    count_token();
    plan_memory(context);
    census_.faults = model_.faults;
    return std::move(census_);
  }

 private:
  void count_group(Group group) {
    GroupCensus sum{.group = group};
    FormatBytes quantisable{};
    FormatBytes all{};
    std::optional<Agreement> agreement;
    if (declared_ != nullptr) agreement.emplace(*declared_, files_.bytes() == Bytes::NamesOnly);
    const auto add = [&](const Taken& taken) {
      sum.tensors += taken.tensors + taken.broken_tensors;
      sum.parameters += taken.parameters;
      sum.bytes += taken.bytes;
      const bool routed = group == Group::RoutedExperts;
      const std::int64_t read = taken.bytes - taken.idle_bytes;
      sum.active_parameters += routed ? chosen_share(taken.parameters, config_) : taken.parameters;
      sum.token_bytes += routed ? chosen_share(read, config_) : read;
      add_to(all, taken.bytes_of_format);
    };
    for (const Taken& taken : model_.taken) {
      if (taken.part->group != group) continue;
      add(taken);
      if (taken.part->quantisable) add_to(quantisable, taken.bytes_of_format);
      if (agreement) agreement->ask(taken);
    }
    if (group == Group::Vision) add(model_.vision);
    if (group == Group::Attention) sum.bytes += model_.kv_scale_bytes;
    if (group == Group::Embedding || group == Group::Mtp || group == Group::Vision) {
      sum.active_parameters = sum.token_bytes = 0;
    }
    if (sum.tensors == 0) return;
    sum.format = joined_names(empty(quantisable) ? all : quantisable);
    if (agreement) {
      sum.config_agrees = agreement->result();
      if (sum.config_agrees == false) census_.notes.push_back(agreement->line(group));
    }
    census_.groups.push_back(std::move(sum));
  }

  GroupCensus* find(Group group) {
    const auto at = std::find_if(census_.groups.begin(), census_.groups.end(),
                                 [&](const GroupCensus& sum) { return sum.group == group; });
    return at == census_.groups.end() ? nullptr : &*at;
  }

  // A tied head has nothing of its own, but a token multiplies with the whole embedding.
  void tie_head() {
    if (!config_.tied_head || find(Group::Head) != nullptr) return;
    const GroupCensus* embedding = find(Group::Embedding);
    if (embedding == nullptr) return;
    GroupCensus head = *embedding;
    head.group = Group::Head;
    head.tensors = 0;
    head.active_parameters = embedding->parameters;
    head.token_bytes = embedding->bytes;
    head.parameters = head.bytes = 0;
    const auto after = std::find_if(census_.groups.begin(), census_.groups.end(),
                                    [](const GroupCensus& sum) { return sum.group > Group::Head; });
    census_.groups.insert(after, std::move(head));
  }

  // Expected is what the layout found needs, with the scales of its format. Where parts are missing, they are
  // taken to be stored as the rest is.
  void count_mtp() {
    std::int64_t tensors_of_matrix = 1;
    bool broken = false;
    for (const Taken& taken : model_.taken) {
      if (taken.part->group != Group::Mtp) continue;
      broken = broken || taken.broken_tensors > 0;
      if (taken.part->quantisable && taken.matrices > 0) {
        tensors_of_matrix = std::max(tensors_of_matrix, taken.tensors / taken.matrices);
      }
    }
    MtpCensus& mtp = census_.mtp;
    mtp.tensors_found = model_.mtp_tensors;
    for (const Taken& taken : model_.taken) {
      if (taken.part->group != Group::Mtp) continue;
      const std::int64_t absent = taken.matrices_needed - taken.matrices;
      mtp.tensors_expected += taken.tensors + absent * (taken.part->quantisable ? tensors_of_matrix : 1);
    }
    if (mtp.tensors_found == 0) {
      if (model_.mtp_layers > 0) {
        census_.notes.push_back(
            fmt::format("config.json declares an MTP head of {} tensors, the files hold none: drafts are off",
                        mtp.tensors_expected));
      }
      return;
    }
    const bool whole = model_.mtp_missing.empty() && !broken;
    mtp.state = whole ? MtpState::Present : MtpState::Incomplete;
    if (const GroupCensus* group = find(Group::Mtp)) mtp.dtype = group->format;
    if (!model_.mtp_missing.empty()) {
      census_.notes.push_back(
          fmt::format("the MTP head is incomplete, {} of {} tensors: drafts are off; missing are {}",
                      mtp.tensors_found, mtp.tensors_expected, checkpoint::first_few(model_.mtp_missing)));
    }
  }

  void count_kv() {
    KvCensus& kv = census_.kv;
    kv.scales_found = model_.kv_scales;
    kv.scales_expected = 2 * config_.attention_layers();
    kv.fp8 = kv.scales_expected > 0 && kv.scales_found == kv.scales_expected;
    const bool wanted = declared_ != nullptr && declared_->declares_fp8_kv();
    if (kv.fp8) {
      kv.reason = fmt::format("all {} k/v scales are in the checkpoint", kv.scales_found);
    } else if (kv.scales_found > 0) {
      kv.reason =
          fmt::format("only {} of {} k/v scales are in the checkpoint", kv.scales_found, kv.scales_expected);
    } else {
      kv.reason = "the checkpoint holds no k/v scales";
    }
    if (wanted && !kv.fp8) {
      kv.reason += fmt::format(", although {} declares an FP8 cache", declared_->kv_source());
      census_.notes.push_back(
          fmt::format("{} declares an FP8 cache, the files hold {} of {} k/v scales: the tensors win",
                      declared_->kv_source(), kv.scales_found, kv.scales_expected));
    }
  }

  std::int64_t state_bytes() const {  // F32, whatever the checkpoint says of it
    return config_.delta_layers() * config_.value_heads * config_.key_head_dim * config_.value_head_dim * 4;
  }

  void count_token() {
    PerToken& token = census_.per_token;
    for (const GroupCensus& group : census_.groups) token.weight_bytes += group.token_bytes;
    token.state_bytes = 2 * state_bytes();
    token.kv_bytes_per_context_token =
        config_.attention_layers() * 2 * config_.kv_heads * config_.head_dim * (census_.kv.fp8 ? 1 : 2);
    if (census_.mtp.state != MtpState::Present) return;
    for (const Taken& taken : model_.taken) {
      if (taken.part->group != Group::Mtp) continue;
      const std::int64_t read = taken.bytes - taken.idle_bytes;
      token.draft_bytes_without_head +=
          taken.part->kind == Part::Kind::Experts ? chosen_share(read, config_) : read;
    }
    const GroupCensus* head = find(Group::Head);
    token.draft_bytes = token.draft_bytes_without_head + (head != nullptr ? head->token_bytes : 0);
  }

  void plan_memory(std::int64_t context) {
    std::int64_t weights = 0;
    for (const GroupCensus& group : census_.groups) {
      if (group.group != Group::Mtp && group.group != Group::Vision) weights += group.bytes;
    }
    std::vector<MemoryRow>& rows = census_.memory;
    rows.push_back({"weights", weights});
    const bool drafts = census_.mtp.state == MtpState::Present;
    if (drafts) rows.push_back({"MTP weights", find(Group::Mtp)->bytes});
    rows.push_back({"recurrent state of one sequence", state_bytes()});
    rows.push_back({"convolution window of one sequence",
                    config_.delta_layers() * config_.conv_channels() * (config_.conv_taps - 1) * 2});
    rows.push_back({fmt::format("keys and values of {} tokens", context),
                    context * census_.per_token.kv_bytes_per_context_token});
    // The draft head's own cache is BF16 always: nobody publishes scales for it.
    if (drafts) {
      rows.push_back({fmt::format("MTP keys and values of {} tokens", context),
                      context * model_.mtp_layers * 2 * config_.kv_heads * config_.head_dim * 2});
    }
  }

  const Config& config_;
  const Checkpoint& files_;
  const QuantizationConfig* declared_;
  const TakenModel& model_;
  Census census_;
};

}  // namespace

Census take_census(const Config& config, const Checkpoint& files, const QuantizationConfig* declared,
                   std::int64_t context) {
  checkpoint::Inventory inventory(files);
  const TakenModel model = take_model(config, inventory);
  return Counting(config, files, declared, model).run(context);
}

}  // namespace redline::model::qwen3_5
