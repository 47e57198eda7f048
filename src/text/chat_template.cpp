// Finding a checkpoint's template, and rendering it.
#include "text/chat_template.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "text/jinja/json.hpp"

namespace redline::text {
namespace {

using jinja::Mapping;
using jinja::Value;

constexpr std::size_t kMostFileBytes = std::size_t{64}
                                       << 20;  // tokenizer_config.json of some checkpoints is several MB

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  ensure(file.good(), ErrorKind::Io, "{}: cannot be read", path.string());
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  ensure(!unknown && size <= kMostFileBytes, ErrorKind::BadCheckpoint,
         "{}: larger than {} MiB, expected a template or its settings", path.string(), kMostFileBytes >> 20);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Mapping read_json_object(const std::filesystem::path& path) {
  Value document;
  try {
    document = jinja::parse_json(read_file(path));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::BadInput) throw;
    fail(ErrorKind::BadCheckpoint, "{}: {}", path.string(), error.what());
  }
  ensure(document.is_mapping(), ErrorKind::BadCheckpoint,
         "{}: expected a JSON object, found a value of type {}", path.string(), jinja::type_name(document));
  return document.as_mapping();
}

// The tokens that transformers hands to templates: a string, or an object with its text in `content`.
Mapping special_tokens_of(const Mapping& config) {
  Mapping out;
  const auto text_of = [](const Value& token) -> std::optional<Value> {
    if (token.is_string()) return token;
    if (!token.is_mapping()) return std::nullopt;
    const Value* content = token.as_mapping().find("content");
    return content != nullptr && content->is_string() ? std::optional(*content) : std::nullopt;
  };
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Value* token = config.find(name);
    if (token == nullptr) continue;
    if (auto text = text_of(*token)) out.set(name, *std::move(text));
  }
  if (const Value* more = config.find("additional_special_tokens"); more != nullptr && more->is_list()) {
    std::vector<Value> tokens;
    for (const Value& token : more->as_list().items) {
      if (auto text = text_of(token)) tokens.push_back(*std::move(text));
    }
    out.set("additional_special_tokens", Value::list(std::move(tokens)));
  }
  return out;
}

struct Source {
  std::string purpose;
  std::string text;
};

// The value of `chat_template` in a JSON file.
std::vector<Source> sources_of(const Value& value, const std::string& where) {
  if (value.is_string()) return {{"default", value.as_string()}};
  ensure(value.is_list(), ErrorKind::BadCheckpoint,
         "{}: expected a string or a list, found a value of type {}", where, jinja::type_name(value));
  std::vector<Source> out;
  for (const Value& entry : value.as_list().items) {
    const Value* name = entry.is_mapping() ? entry.as_mapping().find("name") : nullptr;
    const Value* text = entry.is_mapping() ? entry.as_mapping().find("template") : nullptr;
    ensure(name != nullptr && text != nullptr && name->is_string() && text->is_string(),
           ErrorKind::BadCheckpoint, "{}[{}]: expected an object with the strings 'name' and 'template'",
           where, out.size());
    out.push_back({name->as_string(), text->as_string()});
  }
  const bool has_default =
      std::any_of(out.begin(), out.end(), [](const Source& one) { return one.purpose == "default"; });
  ensure(has_default, ErrorKind::BadCheckpoint, "{}: no template is named 'default'", where);
  return out;
}

constexpr std::string_view kOpening = "<think>";
constexpr std::string_view kClosing = "</think>";

}  // namespace

ChatTemplate ChatTemplate::from_source(std::string_view source, std::string name) {
  ChatTemplate out;
  out.bodies_.push_back({"default", jinja::Template(source, name)});
  out.name_ = std::move(name);
  return out;
}

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder,
                                const std::optional<std::filesystem::path>& explicit_file) {
  const auto config_file = folder / "tokenizer_config.json";
  const Mapping config = std::filesystem::exists(config_file) ? read_json_object(config_file) : Mapping{};
  const Mapping special_tokens = special_tokens_of(config);

  const auto from_file = [&](const std::filesystem::path& file) {
    ChatTemplate out = from_source(read_file(file), file.string());
    out.special_tokens_ = special_tokens;
    return out;
  };
  const auto from_value = [&](const Value& value, const std::string& where) {
    ChatTemplate out;
    out.name_ = where;
    out.special_tokens_ = special_tokens;
    for (const Source& source : sources_of(value, where)) {
      const bool known = source.purpose == "default" || source.purpose == "tool_use";
      if (!known) continue;  // transformers uses others only when a caller asks for them by name
      out.bodies_.push_back(
          {source.purpose,
           jinja::Template(source.text,
                           source.purpose == "default" ? where : where + " '" + source.purpose + "'")});
    }
    return out;
  };

  if (explicit_file) return from_file(*explicit_file);
  const auto file = folder / "chat_template.jinja";
  if (std::filesystem::exists(file)) return from_file(file);
  if (const Value* value = config.find("chat_template"); value != nullptr && !value->is_none()) {
    return from_value(*value, config_file.string() + ": chat_template");
  }
  const auto processor_file = folder / "chat_template.json";
  if (std::filesystem::exists(processor_file)) {
    const Mapping processor = read_json_object(processor_file);
    const Value* value = processor.find("chat_template");
    ensure(value != nullptr, ErrorKind::BadCheckpoint, "{}: no field 'chat_template'",
           processor_file.string());
    return from_value(*value, processor_file.string() + ": chat_template");
  }
  fail(ErrorKind::BadCheckpoint,
       "{}: no chat template: neither chat_template.jinja, nor a field 'chat_template' in "
       "tokenizer_config.json, nor "
       "chat_template.json; name a template file to chat with this checkpoint",
       folder.string());
}

const jinja::Template& ChatTemplate::body_for(const ChatPrompt& prompt) const {
  const std::string_view wanted = prompt.tools.empty() ? "default" : "tool_use";
  for (const Named& named : bodies_) {
    if (named.purpose == wanted) return named.body;
  }
  for (const Named& named : bodies_) {
    if (named.purpose == "default") return named.body;
  }
  fail(ErrorKind::Internal, "{}: no default template", name_);
}

std::string ChatTemplate::render(const ChatPrompt& prompt) const {
  Mapping variables = special_tokens_;
  for (const auto& [name, value] : prompt.extra.entries()) variables.set(name, value);
  variables.set("messages", Value::list(normalize_messages(prompt.messages)));
  variables.set("tools", prompt.tools.empty() ? Value::none() : Value::list(prompt.tools));
  if (prompt.extra.find("documents") == nullptr) variables.set("documents", Value::none());
  variables.set("add_generation_prompt", Value::boolean(prompt.add_generation_prompt));
  if (prompt.enable_thinking) variables.set("enable_thinking", Value::boolean(*prompt.enable_thinking));
  return body_for(prompt).render(variables, {.now = prompt.now});
}

bool ChatTemplate::thinks_by_default() const {
  Mapping message;
  message.set("role", Value::string("user"));
  message.set("content", Value::string("x"));
  ChatPrompt prompt;
  prompt.messages = {Value::mapping(std::move(message))};
  prompt.now = std::tm{};
  prompt.now->tm_mday = 1;  // any valid day
  const std::string as_is = render(prompt);
  // A template may refuse one of the two: then what it does by default is the other.
  const auto with = [&](bool thinking) -> std::optional<std::string> {
    prompt.enable_thinking = thinking;
    try {
      return render(prompt);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::BadInput) throw;
      return std::nullopt;
    }
  };
  const auto on = with(true);
  const auto off = with(false);
  if (on != off) return on ? as_is == *on : as_is != *off;
  // It knows no such switch; if it always opens the reasoning, the model always thinks.
  const std::size_t opened = as_is.rfind(kOpening);
  return opened != std::string::npos && as_is.find(kClosing, opened) == std::string::npos;
}

}  // namespace redline::text
