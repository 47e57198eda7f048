// Answers held-out questions greedily and counts right answers by kind, and how often the draft head's first,
// second and third guess is what the model then says.
//
//   mini_eval_tool MODEL QUESTIONS [--every N] [--answers FILE]
//
// QUESTIONS is a folder as models/redline-mini/eval: questions.jsonl and documents.jsonl
// (tools/mini/questions.py says what they hold). --every N asks each Nth question of a kind. --answers writes
// {"question", "right", "answer"} for each. The last line is one JSON object with all that was counted.
//
// The guesses come from the plainest loop there is: one token at a time, after each the draft head three
// times. It shares nothing with generate() and its ring.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "chat/conversation.hpp"
#include "cli/local_model.hpp"
#include "core/error.hpp"
#include "runtime/session.hpp"
#include "text/jinja/json.hpp"

namespace redline {
namespace {

using Json = nlohmann::ordered_json;  // the order of a tool's parameters is part of the prompt
using Ids = std::vector<std::int32_t>;
constexpr int kGuesses = 3;
constexpr std::size_t kMostTokens = 400;  // of an answer

struct Count {
  int right = 0, asked = 0;
  std::array<std::int64_t, kGuesses> agreed{}, guessed{};
};

std::vector<Json> lines_of(const std::string& file) {
  std::ifstream in(file);
  ensure(in.good(), ErrorKind::Io, "cannot read {}", file);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

// {document N} becomes line N of the documents.
void insert_documents(Json& question, const std::vector<Json>& documents) {
  for (Json& message : question["messages"]) {
    auto text = message["content"].get<std::string>();
    constexpr std::string_view opening = "{document ";
    const std::size_t start = text.find(opening);
    if (start == std::string::npos) continue;
    const std::size_t end = text.find('}', start);
    ensure(end != std::string::npos, ErrorKind::BadInput, "'{{document' without its '}}' in '{}'", text);
    const std::size_t number = std::stoul(text.substr(start + opening.size()));
    message["content"] =
        text.replace(start, end + 1 - start, documents.at(number).get_ref<const std::string&>());
  }
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether `content` holds `check` as words of its own: 12 is not in 112.
bool says(const std::string& content, const std::string& check) {
  for (std::size_t at = content.find(check); at != std::string::npos; at = content.find(check, at + 1)) {
    const std::size_t end = at + check.size();
    if ((at == 0 || !is_word_character(content[at - 1])) &&
        (end == content.size() || !is_word_character(content[end])))
      return true;
  }
  return false;
}

bool is_right(const Json& question, const std::string& answer) {
  static const std::string kThought = "</think>", kEnd = "<|im_end|>";
  const std::size_t thought = answer.rfind(kThought);
  if (thought == std::string::npos || !answer.ends_with(kEnd)) return false;
  const std::string content =
      answer.substr(thought + kThought.size(), answer.size() - kEnd.size() - thought - kThought.size());
  const auto check = question["check"].get<std::string>();
  if (question["kind"] != "json") return says(content, check);
  const auto found = nlohmann::json::parse(content, nullptr, false);
  return !found.is_discarded() && found == nlohmann::json::parse(check);
}

class Loop {
 public:
  Loop(runtime::Session& session, std::int32_t end)
      : session_(session), end_(end), drafts_(session.info().mtp_layers > 0) {}

  Ids answer(const Ids& prompt, Count& count) {
    session_.reset();
    const auto chunk = static_cast<std::size_t>(session_.options().chunk_rows);
    Ids answer;
    std::vector<std::array<std::int32_t, kGuesses>>
        guesses;  // behind answer token i: what is guessed for i + 1, i + 2, i + 3
    for (std::size_t begin = 0; begin < prompt.size(); begin += chunk) {
      const std::size_t count_here = std::min(chunk, prompt.size() - begin);
      const std::int64_t position = session_.length();
      const std::int32_t next = best(session_.run({prompt.data() + begin, count_here}));
      Ids following(prompt.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                    prompt.begin() + static_cast<std::ptrdiff_t>(begin + count_here));
      const bool last = begin + count_here == prompt.size();
      following.push_back(last ? next : prompt[begin + count_here]);
      const auto three = guess(following, position);
      if (last) {
        answer.push_back(next);
        guesses.push_back(three);
      }
    }
    while (answer.back() != end_ && answer.size() < kMostTokens &&
           session_.length() < session_.options().most_tokens) {
      const std::int64_t position = session_.length();
      const std::int32_t next = best(session_.run({&answer.back(), 1}));
      answer.push_back(next);
      guesses.push_back(guess({next}, position));
    }
    for (std::size_t i = 0; drafts_ && i < guesses.size(); ++i) {
      for (std::size_t j = 0; j < kGuesses && i + 1 + j < answer.size(); ++j) {
        ++count.guessed[j];
        count.agreed[j] += guesses[i][j] == answer[i + 1 + j] ? 1 : 0;
      }
    }
    return answer;
  }

 private:
  static std::int32_t best(const TensorView& logits) {
    const auto* row = static_cast<const float*>(logits.data);
    return static_cast<std::int32_t>(std::max_element(row, row + logits.shape[1]) - row);
  }

  // Rows [position, position + following) of the main model have just run; `following` are the tokens behind
  // each.
  std::array<std::int32_t, kGuesses> guess(const Ids& following, std::int64_t position) {
    std::array<std::int32_t, kGuesses> three{};
    if (!drafts_) return three;
    model::ForwardOut out = session_.draft(session_.hidden(), following, position);
    position += static_cast<std::int64_t>(following.size());
    for (int j = 0; j < kGuesses; ++j) {
      three[static_cast<std::size_t>(j)] = best(out.logits);
      if (j + 1 == kGuesses || position >= session_.options().most_tokens) break;
      TensorView row = out.hidden;  // the last one
      row.data =
          static_cast<std::byte*>(row.data) + (row.shape[0] - 1) * row.strides[0] * bits_of(row.dtype) / 8;
      row.shape.sizes[0] = 1;
      out = session_.draft(row, {&three[static_cast<std::size_t>(j)], 1}, position++);
    }
    return three;
  }

  runtime::Session& session_;
  std::int32_t end_;
  bool drafts_;
};

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

int run(const std::vector<std::string>& arguments) {
  std::string answers_file;
  int every = 1;
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--every" && i + 1 < arguments.size()) {
      every = std::stoi(arguments[++i]);
    } else if (arguments[i] == "--answers" && i + 1 < arguments.size()) {
      answers_file = arguments[++i];
    } else {
      folders.push_back(arguments[i]);
    }
  }
  ensure(folders.size() == 2 && every >= 1, ErrorKind::BadInput,
         "usage: mini_eval_tool MODEL QUESTIONS [--every N] [--answers FILE]");
  const std::vector<Json> documents = lines_of(folders[1] + "/documents.jsonl");
  const chat::Words words = chat::Words::load(folders[0]);
  const auto local = cli::load_local({.model = folders[0]});
  const Ids end = words.tokenizer().encode("<|im_end|>", text::Specials::Parse);
  ensure(end.size() == 1, ErrorKind::BadInput, "{}: <|im_end|> is no token", folders[0]);
  Loop loop(*local->session, end.front());
  std::ofstream answers;
  if (!answers_file.empty()) answers.open(answers_file);

  std::map<std::string, Count> counts;
  std::map<std::string, int> met;
  std::vector<std::string> order;
  int index = -1;
  for (Json& question : lines_of(folders[1] + "/questions.jsonl")) {
    ++index;
    const auto kind = question["kind"].get<std::string>();
    if (met[kind]++ % every != 0) continue;
    if (!counts.contains(kind)) order.push_back(kind);
    Count& count = counts[kind];
    insert_documents(question, documents);
    chat::ChatRequest request;
    for (const Json& message : question["messages"])
      request.messages.push_back(text::jinja::from_json(message));
    if (question.contains("tools")) {
      for (const Json& tool : question["tools"]) request.tools.push_back(text::jinja::from_json(tool));
    }
    const Ids answer = loop.answer(words.prompt(request).ids, count);
    const std::string text = words.tokenizer().decode(answer);
    ++count.asked;
    const bool right = question.contains("check") && is_right(question, text);
    count.right += right ? 1 : 0;
    if (answers.is_open())
      answers << Json{{"question", index}, {"right", right}, {"answer", text}}.dump() << std::endl;
  }

  Json result = Json::object();
  fmt::print("{:<14} {:>6} {:>9}   drafts 1 to 3 agree\n", "kind", "asked", "right");
  for (const std::string& kind : order) {
    const Count& count = counts[kind];
    fmt::print("{:<14} {:>6} {:>9}  ", kind, count.asked,
               kind == "story" ? "-" : fmt::format("{:.1f} %", percent(count.right, count.asked)));
    Json drafts = Json::array();
    for (std::size_t j = 0; j < kGuesses; ++j) {
      fmt::print(" {:.1f} %", percent(count.agreed[j], count.guessed[j]));
      drafts.push_back({{"agreed", count.agreed[j]}, {"guessed", count.guessed[j]}});
    }
    fmt::print("\n");
    result[kind] = {{"right", count.right}, {"asked", count.asked}, {"drafts", drafts}};
  }
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace redline

int main(int argc, char** argv) {
  try {
    return redline::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "mini_eval_tool: {}\n", error.what());
    return 2;
  }
}
