// Counts how deep evaluation is nested, for as long as it lives; ends the rendering before the stack does.
#pragma once

#include "core/error.hpp"
#include "text/jinja/budget.hpp"

namespace redline::text::jinja {

class EvaluationDepth {
 public:
  EvaluationDepth(int& depth, Budget& budget) : depth_(depth) {
    budget.step();
    ensure(depth_ < budget.limits().call_depth, ErrorKind::BadInput, "calls nested more than {} deep",
           budget.limits().call_depth);
    ++depth_;
  }
  ~EvaluationDepth() { --depth_; }
  EvaluationDepth(const EvaluationDepth&) = delete;
  EvaluationDepth& operator=(const EvaluationDepth&) = delete;

 private:
  int& depth_;
};

}  // namespace redline::text::jinja
