// Templates from Python's side: a JSON object per line in, one per line out, for the tests that compare with
// jinja2.
//   {"template": TEXT, "variables": {…}}                                   renders the bare interpreter
//   {"template": TEXT, "messages": […], "tools": […], "options": {…}}      renders as for a chat
//   {"load": FOLDER}                                                       loads a checkpoint's template
// answers {"ok": TEXT}, {"ok": …, "thinks": true} for a chat with "thinks" in its options, or {"error":
// MESSAGE, "kind": NAME}.
#include <fmt/format.h>

#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "text/chat_template.hpp"
#include "text/jinja/json.hpp"

namespace {

using redline::text::ChatPrompt;
using redline::text::ChatTemplate;
using redline::text::jinja::Mapping;
using redline::text::jinja::Value;

// 2 January 2024, 03:04:05, a Tuesday: what strftime_now prints on both sides.
std::tm fixed_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 0;
  time.tm_mday = 2;
  time.tm_hour = 3;
  time.tm_min = 4;
  time.tm_sec = 5;
  time.tm_wday = 2;
  time.tm_yday = 1;
  return time;
}

std::string text_at(const Mapping& request, std::string_view name) {
  const Value* value = request.find(name);
  return value == nullptr ? std::string() : value->as_string();
}

nlohmann::ordered_json answer(const Mapping& request) {
  if (request.find("load") != nullptr) {
    return {{"ok", ChatTemplate::load(text_at(request, "load")).name()}};
  }
  const std::string source = text_at(request, "template");
  if (const Value* variables = request.find("variables")) {
    const redline::text::jinja::Template body(source, "template");
    redline::text::jinja::RenderOptions options;
    options.now = fixed_time();
    return {{"ok", body.render(variables->as_mapping(), options)}};
  }
  const ChatTemplate chat = ChatTemplate::from_source(source, "template");
  ChatPrompt prompt;
  prompt.now = fixed_time();
  prompt.messages = request.find("messages")->as_list().items;
  if (const Value* tools = request.find("tools"); tools != nullptr && tools->is_list())
    prompt.tools = tools->as_list().items;
  nlohmann::ordered_json out;
  if (const Value* options = request.find("options")) {
    for (const auto& [key, value] : options->as_mapping().entries()) {
      const std::string& name = key.as_string();
      if (name == "add_generation_prompt") {
        prompt.add_generation_prompt = value.as_boolean();
      } else if (name == "enable_thinking" && value.is(Value::Kind::Boolean)) {
        prompt.enable_thinking = value.as_boolean();
      } else if (name == "thinks") {
        out["thinks"] = chat.thinks_by_default();
      } else {
        prompt.extra.set(name, value);
      }
    }
  }
  out["ok"] = chat.render(prompt);
  return out;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    nlohmann::ordered_json out;
    try {
      out = answer(redline::text::jinja::parse_json(line).as_mapping());
    } catch (const redline::Error& error) {
      out = {{"error", error.what()}, {"kind", redline::name_of(error.kind())}};
    }
    std::cout << out.dump() << '\n' << std::flush;
  }
  return 0;
}
