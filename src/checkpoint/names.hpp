// One name space for three spellings. Published checkpoints call the same tensor
// `model.language_model.layers.0.…`, `model.layers.0.…` or `language_model.model.layers.0.…`; everything
// above this file sees `model.layers.0.…` (docs/formats.md, "Names").
#pragma once

#include <string_view>

namespace redline::checkpoint {

// An internal name is head + tail, so that whoever keeps many names decides where they lie. For a name that
// is internal already, head is empty and tail the whole name.
struct InternalName {
  std::string_view head, tail;  // head is a constant; tail lies in the name on disk
};
InternalName internal_name(std::string_view name_on_disk);

// Tables of rotary frequencies that some exports carry; they follow from the config and are never read.
bool is_ignored(std::string_view name);

}  // namespace redline::checkpoint
