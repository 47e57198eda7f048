// Prefixes on disk and what they become.
#include "checkpoint/names.hpp"

#include <array>

namespace redline::checkpoint {
namespace {

struct Prefix {
  std::string_view on_disk, internal;
};

// No row is a prefix of another, so their order does not matter.
constexpr std::array<Prefix, 9> kPrefixes = {{{"model.language_model.", "model."},
                                              {"language_model.model.", "model."},
                                              {"language_model.lm_head.", "lm_head."},
                                              {"language_model.mtp.", "mtp."},
                                              {"model.mtp.", "mtp."},
                                              {"model.visual.", "visual."},
                                              {"model.vision_tower.", "visual."},
                                              {"language_model.visual.", "visual."},
                                              {"vision_tower.", "visual."}}};

}  // namespace

InternalName internal_name(std::string_view name_on_disk) {
  for (const Prefix& prefix : kPrefixes) {
    if (name_on_disk.starts_with(prefix.on_disk)) {
      return {prefix.internal, name_on_disk.substr(prefix.on_disk.size())};
    }
  }
  return {{}, name_on_disk};
}

bool is_ignored(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

}  // namespace redline::checkpoint
