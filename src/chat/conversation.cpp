// Control tokens in what people write are broken up by a mark before the template sees them, found again in
// the prompt, and encoded as plain text.
#include "chat/conversation.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace redline::chat {
namespace {

using text::jinja::Mapping;
using text::jinja::Value;

// Noncharacters, which no text that people exchange contains; the first one that a request does not have is
// its mark.
constexpr std::array<std::string_view, 4> kMarks{"\uFDD0", "\uFDD1", "\uFDD2", "\uFDD3"};

void collect(const Value& value, std::string& all) {
  if (value.is_string()) {
    all += value.as_string();
  } else if (value.is_list()) {
    for (const Value& item : value.as_list().items) collect(item, all);
  } else if (value.is_mapping()) {
    for (const auto& [key, item] : value.as_mapping().entries()) {
      collect(key, all);
      collect(item, all);
    }
  }
}

class Breaker {
 public:
  Breaker(const text::Tokenizer& tokenizer, const ChatRequest& request) {
    for (const text::AddedToken& token : tokenizer.added_tokens()) {
      if (!token.content.empty()) tokens_.push_back(token.content);
    }
    std::sort(tokens_.begin(), tokens_.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::string all;
    for (const Value& message : request.messages) collect(message, all);
    for (const Value& tool : request.tools) collect(tool, all);
    const auto* mark = std::find_if(kMarks.begin(), kMarks.end(),
                                    [&](std::string_view one) { return all.find(one) == std::string::npos; });
    ensure(mark != kMarks.end(), ErrorKind::BadInput,
           "the messages contain every one of the noncharacters U+FDD0 to U+FDD3, which are no text");
    mark_ = *mark;
  }

  // Role names stay: they are the template's business.
  Value message(const Value& message) const {
    if (!message.is_mapping()) return message;
    const Value* role = message.as_mapping().find("role");
    // What the assistant said may be wrapped in <think> … </think>, which templates take apart.
    const bool ours = role != nullptr && role->is_string() && role->as_string() == "assistant";
    Mapping out;
    for (const auto& [key, value] : message.as_mapping().entries()) {
      const bool untouched =
          key.is_string() &&
          (key.as_string() == "role" ||
           (ours && (key.as_string() == "content" || key.as_string() == "reasoning_content")));
      out.set(key, untouched ? value : broken(value));
    }
    return Value::mapping(std::move(out));
  }

  Value broken(const Value& value) const {
    if (value.is_string()) return Value::string(broken_text(value.as_string()));
    if (value.is_list()) {
      std::vector<Value> items;
      for (const Value& item : value.as_list().items) items.push_back(broken(item));
      return Value::list(std::move(items));
    }
    if (value.is_mapping()) {
      Mapping out;
      for (const auto& [key, item] : value.as_mapping().entries()) out.set(broken(key), broken(item));
      return Value::mapping(std::move(out));
    }
    return value;
  }

  // Takes the marks out of the rendered prompt again; `foreign` are the ranges of tokens that people wrote.
  std::string mended(std::string_view marked, std::vector<text::ByteRange>& foreign) const {
    std::string out;
    std::size_t from = 0;
    while (true) {
      const std::size_t at = marked.find(mark_, from);
      if (at == std::string_view::npos) break;
      out += marked.substr(from, at - from);
      from = at + mark_.size();
      // The mark stands behind the token's first byte; touching that byte keeps the whole token from being
      // found.
      if (!out.empty()) foreign.push_back({out.size() - 1, out.size()});
    }
    out += marked.substr(from);
    return out;
  }

 private:
  std::string broken_text(const std::string& content) const {
    std::string out;
    std::size_t position = 0;
    while (position < content.size()) {
      const std::string_view rest = std::string_view(content).substr(position);
      const bool starts = std::any_of(tokens_.begin(), tokens_.end(),
                                      [&](const std::string& token) { return rest.starts_with(token); });
      out += content[position++];
      if (starts) out += mark_;
    }
    return out;
  }

  std::vector<std::string> tokens_;
  std::string_view mark_;
};

}  // namespace

Value message(std::string role, std::string content) {
  Mapping entries;
  entries.set("role", Value::string(std::move(role)));
  entries.set("content", Value::string(std::move(content)));
  return Value::mapping(std::move(entries));
}

Words Words::load(const std::filesystem::path& folder,
                  const std::optional<std::filesystem::path>& template_file) {
  Words words;
  words.tokenizer_ = std::make_unique<const text::Tokenizer>(text::Tokenizer::load(folder));
  try {
    words.template_ = text::ChatTemplate::load(folder, template_file);
  } catch (const Error& error) {
    // Raw text needs no template, so its fault is told to whoever wants a chat.
    words.template_fault_ = error;
  }
  for (const std::string_view name : {"<|im_end|>", "<|endoftext|>"}) {
    if (const auto id = words.tokenizer_->id_of(name)) words.end_tokens_.push_back(*id);
  }
  return words;
}

Words::Prompt Words::prompt(const ChatRequest& request) const {
  if (template_fault_) throw *template_fault_;
  const Breaker breaker(*tokenizer_, request);
  text::ChatPrompt chat{.enable_thinking = request.enable_thinking, .extra = request.template_variables};
  for (const Value& message : request.messages) chat.messages.push_back(breaker.message(message));
  for (const Value& tool : request.tools) chat.tools.push_back(breaker.broken(tool));
  std::vector<text::ByteRange> foreign;
  Prompt prompt;
  prompt.text = breaker.mended(template_->render(chat), foreign);
  prompt.ids = tokenizer_->encode_around(prompt.text, foreign);
  const std::size_t open = prompt.text.rfind("<think>"), close = prompt.text.rfind("</think>");
  const std::size_t turn = prompt.text.rfind("<|im_start|>");
  prompt.thinks = open != std::string::npos && (turn == std::string::npos || open > turn) &&
                  (close == std::string::npos || close < open);
  return prompt;
}

AnswerText::AnswerText(const text::Tokenizer& tokenizer, bool starts_thinking, std::vector<std::string> stop)
    : decoder_(tokenizer, true), stop_(std::move(stop)), splitter_(starts_thinking) {}

Delta AnswerText::push(std::int32_t id) {
  text::ReasoningSplitter::Parts parts = splitter_.push(stop_.push(decoder_.push(id)));
  return {std::move(parts.reasoning), std::move(parts.content)};
}

Delta AnswerText::finish() {
  std::string rest = stop_.push(decoder_.finish());
  rest += stop_.finish();
  text::ReasoningSplitter::Parts parts = splitter_.push(rest);
  const text::ReasoningSplitter::Parts last = splitter_.finish();
  return {parts.reasoning + last.reasoning, parts.content + last.content};
}

}  // namespace redline::chat
