// What every operator call needs besides its own arguments.
#pragma once

#include "device/arena.hpp"
#include "device/device.hpp"

namespace redline::ops {

class ChoiceTable;
struct Profile;
struct Refusals;

struct Exec {
  Device& device;
  StreamRef stream;
  Arena& scratch;
  const ChoiceTable& choices;
  Profile* profile = nullptr;    // optional: where the time of each call is noted
  Refusals* refusals = nullptr;  // optional, dry runs only: what each candidate says to each problem
};

}  // namespace redline::ops
