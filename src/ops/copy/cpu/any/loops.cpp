// memcpy of pieces: a slot of several megabytes is shared out among the threads as well.
#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "ops/copy/copy.hpp"
#include "ops/cpu_share.hpp"

namespace redline::ops::copy::cpu_any {
namespace {

constexpr std::int64_t kPiece = 64 << 10;

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (args.from.dtype != DType::U8 || args.to.dtype != DType::U8) return {"slots are not bytes"};
  if (args.from.strides[1] != 1 || args.to.strides[1] != 1) return {"bytes are strided"};
  if (args.from.shape[1] != args.to.shape[1] || args.from_index.shape != args.to_index.shape)
    return {"source and target differ in size"};
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t bytes = args.from.shape[1], pieces = (bytes + kPiece - 1) / kPiece;
  share_out(exec, args.from_index.shape[0] * pieces, args.from_index.shape[0] * bytes,
            [&](std::int64_t begin, std::int64_t end) {
              for (std::int64_t item = begin; item < end; ++item) {
                const std::int64_t i = item / pieces, first = item % pieces * kPiece;
                const std::int64_t source =
                    static_cast<const std::int32_t*>(args.from_index.data)[i * args.from_index.strides[0]];
                const std::int64_t target =
                    static_cast<const std::int32_t*>(args.to_index.data)[i * args.to_index.strides[0]];
                ensure(source >= 0 && source < args.from.shape[0] && target >= 0 && target < args.to.shape[0],
                       "copy {}: from slot {} of {} to slot {} of {}", i, source, args.from.shape[0], target,
                       args.to.shape[0]);
                std::memcpy(
                    static_cast<std::byte*>(args.to.data) + target * args.to.strides[0] + first,
                    static_cast<const std::byte*>(args.from.data) + source * args.from.strides[0] + first,
                    static_cast<std::size_t>(std::min(kPiece, bytes - first)));
              }
            });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::copy::cpu_any
