// What every operator's run() does: the reference if tests ask for it, else the chosen candidate; its scratch
// is given back afterwards and its time noted if somebody wants to know. With a counting arena nothing runs
// and only the scratch is counted: the dry run that sizes the arena.
#pragma once

#include <chrono>
#include <span>
#include <string_view>

#include "ops/candidate.hpp"
#include "ops/choice.hpp"
#include "ops/profile.hpp"
#include "ops/refusals.hpp"

namespace redline::ops {

template <class Args>
struct Operation {
  std::string_view name;
  std::span<const Entry<Args>> candidates;
  void (*reference)(const Args& args);
  std::int64_t (*bytes)(const Args& args) = nullptr;  // that must cross memory
};

template <class Args>
void dispatch(Exec& exec, const Operation<Args>& operation, const Args& args) {
  const bool counting = exec.scratch.is_counting();
  if (exec.choices.references()) {
    if (!counting) operation.reference(args);
    return;
  }
  const Arena::Scope scope(exec.scratch);
  const Entry<Args>& entry = choose(exec, operation.name, operation.candidates, args);
  if (counting) {
    if (exec.refusals != nullptr) {
      const ProblemKey problem = key(args);  // the operator's own, found by its Args
      for (const Entry<Args>& each : operation.candidates) {
        exec.refusals->add(operation.name, problem, each.path,
                           each.candidate.supports(exec.device.info(), args));
      }
      exec.refusals->chosen[{std::string(operation.name), problem.text}] = entry.path;
    }
    if (entry.candidate.scratch_bytes != nullptr)
      exec.scratch.take_bytes(entry.candidate.scratch_bytes(args, 0));
    return;
  }
  if (exec.profile == nullptr) return entry.candidate.run(exec, args, 0);
  const auto start = std::chrono::steady_clock::now();
  entry.candidate.run(exec, args, 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  exec.profile->add(operation.name, entry.path, took.count(),
                    operation.bytes == nullptr ? 0 : operation.bytes(args));
}

}  // namespace redline::ops
