// Prompt to tokens, tokens to text as they come; thinking goes to standard error, so that what is piped on is
// the answer alone.
#include "cli/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "chat/conversation.hpp"
#include "cli/answer_report.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "model/qwen3_5/sizes.hpp"
#include "runtime/generate.hpp"
#include "text/utf8.hpp"

namespace redline::cli {
namespace {

using nlohmann::json;

std::string read_prompt(const GenerateOptions& options) {
  std::string text = options.prompt ? *options.prompt
                                    : std::string(std::istreambuf_iterator<char>(std::cin),
                                                  std::istreambuf_iterator<char>());
  if (const auto broken = text::find_invalid_utf8(text)) {
    log::warn("the prompt is not UTF-8 (first at byte {}); such bytes are read as U+FFFD", *broken);
    text = text::replace_invalid_utf8(text);
  }
  ensure(!text.empty(), ErrorKind::BadInput,
         "the prompt is empty; give --prompt TEXT or text on standard input");
  return text;
}

chat::Words::Prompt make_prompt(const GenerateOptions& options, const chat::Words& words) {
  const std::string text = read_prompt(options);
  if (options.raw) return {.text = text, .ids = words.tokenizer().encode(text, text::Specials::Parse)};
  chat::ChatRequest request{.enable_thinking = options.thinking};
  if (options.system) request.messages.push_back(chat::message("system", *options.system));
  request.messages.push_back(chat::message("user", text));
  return words.prompt(request);
}

// Logits behind every token of the prompt, for holding against another implementation: a safetensors file of
// `tokens` and `logits`.
void write_logits(const std::string& file, runtime::Session& session, const std::vector<std::int32_t>& ids) {
  const TensorView logits = session.run(ids, runtime::Session::Logits::All);
  const std::size_t token_bytes = ids.size() * sizeof(std::int32_t),
                    logit_bytes = static_cast<std::size_t>(logits.shape.elements()) * sizeof(float);
  std::string header = fmt::format(
      R"({{"tokens":{{"dtype":"I32","shape":[{}],"data_offsets":[0,{}]}},"logits":{{"dtype":"F32","shape":[{},{}],"data_offsets":[{},{}]}}}})",
      ids.size(), token_bytes, logits.shape[0], logits.shape[1], token_bytes, token_bytes + logit_bytes);
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data begins at a multiple of eight
  const std::uint64_t length = header.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header;
  out.write(reinterpret_cast<const char*>(ids.data()), static_cast<std::streamsize>(token_bytes));
  out.write(static_cast<const char*>(logits.data), static_cast<std::streamsize>(logit_bytes));
  out.flush();
  ensure(out.good(), ErrorKind::Io, "cannot write the logits to {}", file);
  session.reset();
  log::info("logits of {} prompt tokens written to {}", ids.size(), file);
}

}  // namespace

int run_generate(const GenerateOptions& options) {
  ensure(!options.model.model.starts_with(model::qwen3_5::kSyntheticPrefix), ErrorKind::BadInput,
         "{} has random weights and no tokenizer, so it has nothing to say; `bench` measures it",
         options.model.model);
  ensure(!options.raw || (!options.system && !options.thinking && !options.chat_template),
         ErrorKind::BadInput,
         "--raw continues the text as it stands: --system, --thinking and --chat-template have no meaning "
         "with it");
  const chat::Words words = chat::Words::load(options.model.model, options.chat_template);
  const chat::Words::Prompt prompt = make_prompt(options, words);
  runtime::Request request = read_sampling(options.sampling, options.model.model);
  const auto local = load_local(
      options.model,
      options.logits ? std::max<std::int64_t>(static_cast<std::int64_t>(prompt.ids.size()), 64) : 0);
  if (options.logits) write_logits(*options.logits, *local->session, prompt.ids);

  request.prompt = prompt.ids;
  request.vocabulary = words.tokenizer().vocabulary_size();
  request.stop_ids.insert(request.stop_ids.end(), words.end_tokens().begin(), words.end_tokens().end());
  if (request.max_tokens == 0)
    request.max_tokens = std::max<std::int64_t>(
        local->session->options().most_tokens - static_cast<std::int64_t>(prompt.ids.size()), 1);

  chat::AnswerText text(words.tokenizer(), prompt.thinks, {});
  std::string reasoning, content;
  const auto show = [&](const chat::Delta& delta) {
    reasoning += delta.reasoning;
    content += delta.content;
    if (options.json) return;
    if (!delta.reasoning.empty()) fmt::print(stderr, "{}", delta.reasoning);
    if (!delta.content.empty() && content.size() == delta.content.size() && !reasoning.empty())
      fmt::print(stderr, "\n\n");
    fmt::print("{}", delta.content);
    std::fflush(stdout);
  };
  const runtime::Answer answer = runtime::generate(*local->session, request, [&](std::int32_t id) {
    show(text.push(id));
    return true;
  });
  show(text.finish());
  if (options.json) {
    json report = report_of(answer, request, static_cast<std::int64_t>(prompt.ids.size()));
    report["model"] = options.model.model;
    report["reasoning_content"] = prompt.thinks || !reasoning.empty() ? json(reasoning) : json(nullptr);
    report["content"] = content;
    report["ids"] = answer.tokens;
    fmt::print("{}\n", report.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    if (!content.empty() && content.back() != '\n') fmt::print("\n");
    log::info("{}", line_of(answer, static_cast<std::int64_t>(prompt.ids.size())));
  }
  return 0;
}

}  // namespace redline::cli
