// A chat template as foreign bytes: it is refused when loaded, or every rendering of it ends, with text or
// with our Error, within its limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/json.hpp"

using namespace redline;
using namespace redline::text;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const jinja::Value variables = jinja::parse_json(
      R"({"messages": [{"role": "user", "content": "h\u00e9 <x>"}, {"role": "assistant", "content": null,
          "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, "x", null, true]}}}]}],
          "tools": [], "x": 3, "add_generation_prompt": true, "eos_token": "<|im_end|>"})");
  jinja::RenderOptions options;
  // Small enough that the slowest input stays well under the fuzzer's time limit.
  options.limits = {.steps = 100'000, .work_bytes = 16 << 20, .output_bytes = 4 << 20, .call_depth = 100};
  try {
    const jinja::Template body(std::string_view(reinterpret_cast<const char*>(data), size), "template");
    body.render(variables.as_mapping(), options);
    body.render(jinja::Mapping(), options);
  } catch (const Error&) {
    // Refused or ended with a sentence.
  }
  return 0;
}
