// Sixteen channels at a time, in whatever vectors the baseline has.
#include "ops/short_conv/cpu_channels.hpp"

namespace redline::ops::short_conv::cpu_any {

Candidate<Args> loops() { return {.order = 1000, .supports = supports_channels, .run = run_channels}; }

}  // namespace redline::ops::short_conv::cpu_any
