// Every candidate of every operator, on every case, against the operator's reference.
#include "ops/conformance.hpp"

#include <gtest/gtest.h>

#include "device/cpu/cpu_device.hpp"
#include "ops/attention/attention.hpp"
#include "ops/combine/combine.hpp"
#include "ops/copy/copy.hpp"
#include "ops/delta/delta.hpp"
#include "ops/embed/embed.hpp"
#include "ops/gate/gate.hpp"
#include "ops/grouped_matmul/grouped_matmul.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/norm/norm.hpp"
#include "ops/rope_kv/rope_kv.hpp"
#include "ops/route/route.hpp"
#include "ops/sample/sample.hpp"
#include "ops/short_conv/short_conv.hpp"

namespace redline::ops {
namespace {

template <class Args>
void walk(std::span<const Entry<Args>> candidates, const std::vector<Case<Args>>& cases,
          void (*reference)(const Args&), Tolerance (*tolerance)(const Args&)) {
  CpuDevice device(2);
  Arena scratch(device, std::size_t{64} << 20, Place::Host);
  const ChoiceTable choices;
  Exec exec{device, {}, scratch, choices};
  ASSERT_FALSE(candidates.empty());
  ASSERT_FALSE(cases.empty());
  for (const Entry<Args>& entry : candidates) {
    int ran = 0;
    std::string refusal;
    for (const Case<Args>& one : cases) {
      const Conformity result = check_conformance(exec, entry.candidate, 0, one, reference, tolerance, 7);
      if (!result.accepted) {
        refusal = result.detail;
        continue;
      }
      ++ran;
      EXPECT_TRUE(result.correct) << entry.path << " on " << one.name << ": " << result.detail;
    }
    std::printf("%.*s: %d of %zu cases%s%s\n", static_cast<int>(entry.path.size()), entry.path.data(), ran,
                cases.size(), refusal.empty() ? "" : "; refused: ", refusal.c_str());
  }
}

TEST(Conformance, Attention) {
  walk(attention::candidates(), attention::cases(), attention::reference, attention::tolerance);
}
TEST(Conformance, Delta) { walk(delta::candidates(), delta::cases(), delta::reference, delta::tolerance); }
TEST(Conformance, GroupedMatmul) {
  walk(grouped_matmul::candidates(), grouped_matmul::cases(), grouped_matmul::reference,
       grouped_matmul::tolerance);
}
TEST(Conformance, Matmul) {
  walk(matmul::candidates(), matmul::cases(), matmul::reference, matmul::tolerance);
}

TEST(Conformance, Combine) {
  walk(combine::candidates(), combine::cases(), combine::reference, combine::tolerance);
}
TEST(Conformance, Copy) { walk(copy::candidates(), copy::cases(), copy::reference, copy::tolerance); }
TEST(Conformance, Route) { walk(route::candidates(), route::cases(), route::reference, route::tolerance); }
TEST(Conformance, Sample) {
  walk(sample::candidates(), sample::cases(), sample::reference, sample::tolerance);
}
TEST(Conformance, Embed) { walk(embed::candidates(), embed::cases(), embed::reference, embed::tolerance); }
TEST(Conformance, Gate) { walk(gate::candidates(), gate::cases(), gate::reference, gate::tolerance); }
TEST(Conformance, Norm) { walk(norm::candidates(), norm::cases(), norm::reference, norm::tolerance); }
TEST(Conformance, RopeKv) {
  walk(rope_kv::candidates(), rope_kv::cases(), rope_kv::reference, rope_kv::tolerance);
}
TEST(Conformance, ShortConv) {
  walk(short_conv::candidates(), short_conv::cases(), short_conv::reference, short_conv::tolerance);
}

}  // namespace
}  // namespace redline::ops
