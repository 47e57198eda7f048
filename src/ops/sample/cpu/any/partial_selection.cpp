// Each row on one thread: one scan for the largest logit; where a filter needs the most likely ones in order,
// a growing number of them is selected, never all sorted. Sums are in double, so that a draw among 248,320
// ids is decided by the random number and not by rounding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/philox.hpp"
#include "device/cpu/cpu_device.hpp"
#include "ops/sample/sample.hpp"

namespace redline::ops::sample::cpu_any {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.logits.dtype != DType::F32) return {"logits are not F32"};
  return {};
}

// Per row: the logits after penalties, and the ids that are being selected.
std::size_t scratch_bytes(const Args& args, int) {
  return static_cast<std::size_t>(args.logits.shape[0] * args.vocabulary) *
             (sizeof(float) + sizeof(std::int32_t)) +
         2 * Arena::kAlignment;
}

class RowChoice {
 public:
  RowChoice(const Args& args, std::int64_t row, float* logits, std::int32_t* ids)
      : args_(args), row_(row), count_(args.vocabulary), logits_(logits), ids_(ids) {}

  std::int32_t choose() {
    penalise();
    std::int64_t best = 0;
    for (std::int64_t id = 1; id < count_; ++id) {
      if (logits_[id] > logits_[best]) best = id;
    }
    const float temperature = setting(args_.temperature);
    if (temperature == 0 || !std::isfinite(logits_[best]))
      return std::isfinite(logits_[best]) ? static_cast<std::int32_t>(best) : 0;
    best_ = logits_[best];
    inverse_ = 1 / static_cast<double>(temperature);
    const float top_p = setting(args_.top_p), min_p = setting(args_.min_p);
    const auto top_k = static_cast<const std::int32_t*>(args_.top_k.data)[row_];
    if (top_k <= 0 && top_p >= 1) return draw_from_all(min_p);
    std::int64_t kept = select(top_k > 0 ? std::min<std::int64_t>(top_k, count_) : count_, top_p);
    while (kept > 1 && probability(ids_[kept - 1]) < static_cast<double>(min_p)) --kept;
    std::sort(ids_, ids_ + kept);
    return draw_from_selected(kept);
  }

 private:
  float setting(const TensorView& view) const { return static_cast<const float*>(view.data)[row_]; }
  double probability(std::int64_t id) const {
    return std::exp((static_cast<double>(logits_[id]) - best_) * inverse_);
  }

  void penalise() {
    const float* from = static_cast<const float*>(args_.logits.data) + row_ * args_.logits.strides[0];
    for (std::int64_t id = 0; id < count_; ++id) logits_[id] = std::isnan(from[id]) ? kNothing : from[id];
    if (args_.counts.data == nullptr) return;
    const auto* counts = static_cast<const std::int32_t*>(args_.counts.data) + row_ * args_.counts.strides[0];
    const float repetition = setting(args_.repetition), frequency = setting(args_.frequency),
                presence = setting(args_.presence);
    for (std::int64_t id = 0; id < count_; ++id) {
      if (counts[id] <= 0) continue;
      const float logit = logits_[id] > 0 ? logits_[id] / repetition : logits_[id] * repetition;
      logits_[id] = logit - frequency * static_cast<float>(counts[id]) - presence;
    }
  }

  double random() const {
    return uniform_float(
        static_cast<const std::uint64_t*>(args_.seed.data)[row_],
        static_cast<std::uint64_t>(static_cast<const std::int32_t*>(args_.position.data)[row_]), 0);
  }

  std::int32_t draw_from_all(float min_p) const {
    double total = 0;
    for (std::int64_t id = 0; id < count_; ++id) {
      const double p = probability(id);
      if (p >= static_cast<double>(min_p)) total += p;
    }
    const double wanted = random() * total;
    double sum = 0;
    std::int64_t last = 0;
    for (std::int64_t id = 0; id < count_; ++id) {
      const double p = probability(id);
      if (p < static_cast<double>(min_p)) continue;
      sum += p;
      last = id;
      if (sum > wanted) break;
    }
    return static_cast<std::int32_t>(last);
  }

  std::int32_t draw_from_selected(std::int64_t kept) const {
    double total = 0;
    for (std::int64_t i = 0; i < kept; ++i) total += probability(ids_[i]);
    const double wanted = random() * total;
    double sum = 0;
    for (std::int64_t i = 0; i < kept; ++i) {
      sum += probability(ids_[i]);
      if (sum > wanted) return ids_[i];
    }
    return ids_[kept - 1];
  }

  // The most likely ids in order, at most `most` of them, and no more than top_p asks for; gives how many.
  std::int64_t select(std::int64_t most, float top_p) {
    for (std::int64_t id = 0; id < count_; ++id) ids_[id] = static_cast<std::int32_t>(id);
    const auto more_likely = [this](std::int32_t a, std::int32_t b) {
      return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
    };
    double total = -1;  // of what top-k leaves; all of it must be known before top-p can cut
    if (most == count_ && top_p < 1) {
      total = 0;
      for (std::int64_t id = 0; id < count_; ++id) total += probability(id);
    }
    std::int64_t sorted = 0;
    double sum = 0;
    for (std::int64_t step = total < 0 ? most : 512;; step *= 8) {
      const std::int64_t end = std::min(most, sorted + step);
      if (end < count_) std::nth_element(ids_ + sorted, ids_ + end, ids_ + count_, more_likely);
      std::sort(ids_ + sorted, ids_ + end, more_likely);
      if (top_p >= 1) return end;
      if (total < 0) {
        total = 0;
        for (std::int64_t i = 0; i < end; ++i) total += probability(ids_[i]);
      }
      const double wanted = static_cast<double>(top_p) * total;
      for (; sorted < end; ++sorted) {
        if (sorted > 0 && sum >= wanted) return sorted;
        sum += probability(ids_[sorted]);
      }
      if (end == most) return end;
    }
  }

  const Args& args_;
  std::int64_t row_, count_;
  float* logits_;
  std::int32_t* ids_;
  double best_ = 0, inverse_ = 1;
};

void run(Exec& exec, const Args& args, int) {
  const std::int64_t rows = args.logits.shape[0], count = args.vocabulary;
  auto* logits =
      static_cast<float*>(exec.scratch.take_bytes(static_cast<std::size_t>(rows * count) * sizeof(float)));
  auto* ids = static_cast<std::int32_t*>(
      exec.scratch.take_bytes(static_cast<std::size_t>(rows * count) * sizeof(std::int32_t)));
  static_cast<CpuDevice&>(exec.device)
      .threads()
      .parallel_for(static_cast<std::size_t>(rows), [&](const ThreadPool::Chunk& chunk) {
        for (std::size_t r = chunk.begin; r < chunk.end; ++r) {
          const auto row = static_cast<std::int64_t>(r);
          static_cast<std::int32_t*>(args.ids.data)[row] =
              RowChoice(args, row, logits + row * count, ids + row * count).choose();
        }
      });
}

}  // namespace

Candidate<Args> partial_selection() {
  return {.order = 1000, .supports = supports, .scratch_bytes = scratch_bytes, .run = run};
}

}  // namespace redline::ops::sample::cpu_any
