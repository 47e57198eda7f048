// Names, and for each precision the format of each part.
#include "model/qwen3_5/precision.hpp"

#include <array>

#include "core/error.hpp"

namespace redline::model::qwen3_5 {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"bf16", "fp8", "experts", "mixed", "nvfp4"};

}  // namespace

std::string_view name_of(Precision precision) { return kNames[static_cast<std::size_t>(precision)]; }

Precision precision_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Precision>(i);
  }
  fail(ErrorKind::BadInput, "the precision \"{}\" is not known; known are {}", name, fmt::join(kNames, ", "));
}

quant::Format format_in(const Part& part, Precision precision) {
  using quant::Format;
  if (!part.quantisable) return Format::Bf16;
  const bool mtp = part.group == Group::Mtp;
  const bool projection = part.group == Group::Attention || part.group == Group::DeltaNet;
  switch (precision) {
    case Precision::Bf16:
      return Format::Bf16;
    case Precision::Fp8:
      return part.group == Group::Head ? Format::Bf16 : Format::Fp8Block;
    case Precision::Experts:
      return part.group == Group::RoutedExperts ? Format::Nvfp4 : Format::Bf16;
    case Precision::Mixed:
      if (mtp) return Format::Bf16;
      return projection ? Format::Fp8Tensor : Format::Nvfp4;
    case Precision::Nvfp4:
      return mtp ? Format::Bf16 : Format::Nvfp4;
  }
  return Format::Bf16;
}

}  // namespace redline::model::qwen3_5
