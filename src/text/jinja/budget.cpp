// The sentences for a rendering that wants too much.
#include "text/jinja/budget.hpp"

#include "core/error.hpp"
#include "text/jinja/value.hpp"

namespace redline::text::jinja {

void Budget::charge_items(std::uint64_t count) {
  if (count > limits_.work_bytes) out_of_bytes();  // before the product can wrap around
  charge(count * sizeof(Value));
}

void Budget::out_of_steps() const {
  fail(ErrorKind::BadInput, "stopped after {} steps; the template does not seem to end", limits_.steps);
}

void Budget::out_of_bytes() const {
  fail(ErrorKind::BadInput, "stopped: more than {} MiB of text made in all, or {} MiB in one piece",
       limits_.work_bytes >> 20, limits_.output_bytes >> 20);
}

}  // namespace redline::text::jinja
