// Reads lines, streams answers, thinking dimmed. Ctrl-C stops the answer, not the program; at the prompt it
// ends the program as any shell would.
#include "cli/chat.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "chat/conversation.hpp"
#include "cli/answer_report.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "model/qwen3_5/sizes.hpp"
#include "runtime/generate.hpp"
#include "text/utf8.hpp"

namespace redline::cli {
namespace {

// Written by a signal handler, which is given nothing but this.
volatile std::sig_atomic_t interrupted = 0;

// Ctrl-C is ours while an answer runs.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    previous_ = std::signal(SIGINT, [](int) { interrupted = 1; });
  }
  ~InterruptGuard() { std::signal(SIGINT, previous_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*previous_)(int);
};

class Chat {
 public:
  explicit Chat(const ChatOptions& options)
      : options_(options),
        words_(chat::Words::load(options.model.model, options.chat_template)),
        sampling_(read_sampling(options.sampling, options.model.model)),
        colours_(isatty(STDOUT_FILENO) == 1) {
    clear();
    words_.prompt(
        {.messages = {chat::message("user", "?")},
         .enable_thinking = options.thinking});  // a template that cannot be used is told before loading
    local_ = load_local(options.model);
  }

  int run() {
    const bool asks = isatty(STDIN_FILENO) == 1;
    if (asks)
      fmt::print(
          "/exit leaves, /clear forgets the conversation, /stats tells speeds; Ctrl-C stops an answer\n");
    std::string line;
    while (true) {
      if (asks) {
        fmt::print("{}> {}", colours_ ? "\x1b[1m" : "", colours_ ? "\x1b[0m" : "");
        std::fflush(stdout);
      }
      if (!std::getline(std::cin, line)) break;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      if (line == "/exit") return 0;
      if (line == "/clear") {
        clear();
      } else if (line == "/stats") {
        fmt::print("{}\n", stats_.empty() ? "nothing was answered yet" : stats_);
      } else if (line.front() == '/') {
        fmt::print("{} is no command; there are /exit, /clear, /stats\n", line);
      } else {
        ask(text::find_invalid_utf8(line) ? text::replace_invalid_utf8(line) : line);
      }
    }
    if (asks) fmt::print("\n");
    return 0;
  }

 private:
  void clear() {
    messages_.clear();
    if (options_.system) messages_.push_back(chat::message("system", *options_.system));
  }

  void ask(const std::string& question) {
    messages_.push_back(chat::message("user", question));
    try {
      answer();
    } catch (const Error& error) {
      // A conversation that outgrows its context, a template that refuses: the program goes on, without this
      // question.
      if (error.kind() != ErrorKind::BadInput) throw;
      messages_.pop_back();
      fmt::print(stderr, "redline: {}\n", error.what());
    }
  }

  void answer() {
    const chat::Words::Prompt prompt =
        words_.prompt({.messages = messages_, .enable_thinking = options_.thinking});
    runtime::Session& session = *local_->session;
    // What the session holds already need not be run again; recurrent state cannot go back, so anything else
    // starts anew.
    std::size_t known =
        held_.size() < prompt.ids.size() && std::equal(held_.begin(), held_.end(), prompt.ids.begin())
            ? held_.size()
            : 0;
    if (known == 0 || request_drafts() > 0) {  // the draft head's cache wants all rows of a prompt
      session.reset();
      known = 0;
    }
    runtime::Request request = sampling_;
    request.prompt.assign(prompt.ids.begin() + static_cast<std::ptrdiff_t>(known), prompt.ids.end());
    request.vocabulary = words_.tokenizer().vocabulary_size();
    request.stop_ids.insert(request.stop_ids.end(), words_.end_tokens().begin(), words_.end_tokens().end());
    const std::int64_t room = session.options().most_tokens - static_cast<std::int64_t>(prompt.ids.size());
    ensure(room > 0, ErrorKind::BadInput,
           "the conversation has {} tokens, the context holds {}; /clear starts anew, --max-model-len gives "
           "more room",
           prompt.ids.size(), session.options().most_tokens);
    request.max_tokens = request.max_tokens > 0 ? std::min(request.max_tokens, room) : room;

    held_.clear();  // until the answer is through
    chat::AnswerText text(words_.tokenizer(), prompt.thinks, {});
    const InterruptGuard guard;
    std::string reasoning, content;
    const auto show = [&](const chat::Delta& delta) {
      if (!delta.reasoning.empty())
        fmt::print("{}{}{}", colours_ ? "\x1b[2m" : "", delta.reasoning, colours_ ? "\x1b[0m" : "");
      if (!delta.content.empty() && content.empty() && !reasoning.empty()) fmt::print("\n\n");
      fmt::print("{}", delta.content);
      reasoning += delta.reasoning;
      content += delta.content;
      std::fflush(stdout);
    };
    const runtime::Answer answer = runtime::generate(session, request, [&](std::int32_t id) {
      show(text.push(id));
      return interrupted == 0;
    });
    show(text.finish());
    fmt::print("{}\n", answer.reason == runtime::StopReason::Caller ? " [stopped]" : "");
    stats_ = line_of(answer, static_cast<std::int64_t>(request.prompt.size()));
    held_ = prompt.ids;
    held_.insert(held_.end(), answer.tokens.begin(), answer.tokens.end());
    held_.resize(static_cast<std::size_t>(session.length()));

    text::jinja::Mapping said;
    said.set("role", text::jinja::Value::string("assistant"));
    said.set("content", text::jinja::Value::string(content));
    if (!reasoning.empty()) said.set("reasoning_content", text::jinja::Value::string(reasoning));
    messages_.push_back(text::jinja::Value::mapping(std::move(said)));
  }

  int request_drafts() const { return sampling_.drafts; }

  ChatOptions options_;
  chat::Words words_;
  runtime::Request sampling_;  // a request without its prompt
  bool colours_;
  std::unique_ptr<LocalModel> local_;
  std::vector<text::jinja::Value> messages_;
  std::vector<std::int32_t> held_;  // tokens that the session's caches hold
  std::string stats_;
};

}  // namespace

int run_chat(const ChatOptions& options) {
  ensure(!options.model.model.starts_with(model::qwen3_5::kSyntheticPrefix), ErrorKind::BadInput,
         "{} has random weights and no tokenizer, so it has nothing to say; `bench` measures it",
         options.model.model);
  return Chat(options).run();
}

}  // namespace redline::cli
