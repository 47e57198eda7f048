// Copies rows; where types differ, in blocks that the compiler vectorises.
#include <cstring>

#include "core/error.hpp"
#include "ops/cpu_share.hpp"
#include "ops/embed/embed.hpp"
#include "ops/lanes.hpp"

namespace redline::ops::embed::cpu_any {
namespace {

Verdict supports(const DeviceInfo& device, const Args& args) {
  if (device.kind != DeviceKind::Cpu) return {"runs on a CPU"};
  if (!is_row_type(args.table.dtype) || !is_row_type(args.y.dtype))
    return {"the table or y is neither BF16 nor F32"};
  if (args.table.strides[1] != 1 || args.y.strides[1] != 1) return {"columns are strided"};
  return {};
}

void run(Exec& exec, const Args& args, int) {
  const std::int64_t hidden = args.y.shape[1];
  share_out(exec, args.y.shape[0], args.y.shape[0] * hidden, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t token =
          static_cast<const std::int32_t*>(args.tokens.data)[r * args.tokens.strides[0]];
      ensure(token >= 0 && token < args.table.shape[0], "row {} asks for entry {} of a table of {}", r, token,
             args.table.shape[0]);
      const Row from = row_at(args.table, token * args.table.strides[0]),
                to = row_at(args.y, r * args.y.strides[0]);
      if (from.narrow == to.narrow) {
        std::memcpy(to.data, from.data, static_cast<std::size_t>(hidden) * (to.narrow ? 2 : 4));
        continue;
      }
      for_blocks(hidden, [&](std::int64_t at, std::int64_t count) {
        float values[kLanes];
        load_block(from, at, count, values);
        store_block(to, at, count, values);
      });
    }
  });
}

}  // namespace

Candidate<Args> loops() { return {.order = 1000, .supports = supports, .run = run}; }

}  // namespace redline::ops::embed::cpu_any
