// What every operator call needs besides its own arguments.
#pragma once

#include "device/arena.hpp"
#include "device/device.hpp"

namespace redline::ops {

class ChoiceTable;

struct Exec {
  Device& device;
  StreamRef stream;
  Arena& scratch;
  const ChoiceTable& choices;
};

}  // namespace redline::ops
