// What every operator call needs besides its own arguments.
#pragma once

#include "device/arena.hpp"
#include "device/device.hpp"

namespace redline::ops {

class ChoiceTable;
struct Profile;

struct Exec {
  Device& device;
  StreamRef stream;
  Arena& scratch;
  const ChoiceTable& choices;
  Profile* profile = nullptr;  // optional: where the time of each call is noted
};

}  // namespace redline::ops
