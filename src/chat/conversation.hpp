// Between people's text and the engine's token ids: a request becomes a prompt, tokens become deltas.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/types.hpp"
#include "core/error.hpp"
#include "text/chat_template.hpp"
#include "text/parse/reasoning.hpp"
#include "text/stop_strings.hpp"
#include "text/stream_decoder.hpp"
#include "text/tokenizer.hpp"

namespace redline::chat {

// The words of one checkpoint: tokenizer, template, where an answer ends. Immutable; any number of
// conversations share one.
class Words {
 public:
  // `template_file` replaces the checkpoint's template.
  static Words load(const std::filesystem::path& folder,
                    const std::optional<std::filesystem::path>& template_file = {});

  struct Prompt {
    std::string text;
    std::vector<std::int32_t> ids;
    bool thinks = false;  // it ends inside an open <think>
  };
  // Text in messages cannot become control tokens: "<|im_end|>" in a user's message stays text. BadInput for
  // what the template refuses.
  Prompt prompt(const ChatRequest& request) const;

  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  // <|im_end|> and <|endoftext|>, whatever generation_config.json says: models are trained to end with them.
  const std::vector<std::int32_t>& end_tokens() const { return end_tokens_; }

 private:
  std::unique_ptr<const text::Tokenizer> tokenizer_;
  std::optional<text::ChatTemplate> template_;
  std::optional<Error> template_fault_;
  std::vector<std::int32_t> end_tokens_;
};

// One answer, from ids to deltas: whole characters, reasoning apart, cut at stop texts.
class AnswerText {
 public:
  AnswerText(const text::Tokenizer& tokenizer, bool starts_thinking, std::vector<std::string> stop);
  Delta push(std::int32_t id);  // after stopped() nothing more comes
  Delta finish();
  bool stopped() const { return stop_.stopped_by().has_value(); }

 private:
  text::StreamDecoder decoder_;
  text::StopStrings stop_;
  text::ReasoningSplitter splitter_;
};

}  // namespace redline::chat
