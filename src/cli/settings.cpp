// Command line and environment -> Settings.
#include "cli/settings.hpp"

#include <CLI/CLI.hpp>

#include "core/error.hpp"
#include "core/version.hpp"

namespace redline::cli {
namespace {

constexpr const char* kModelHelp =
    "checkpoint folder, or synthetic:NAME[@PRECISION] (names "
    "qwen3.5-{0.8b,2b,4b,9b,27b,35b-a3b,122b-a10b,397b-a17b}; "
    "precisions bf16, fp8, experts, mixed, nvfp4)";

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  CLI::App* command = app.add_subcommand(
      "inspect", "what a checkpoint is, and how fast this machine or another could run it");
  command->add_option("model", options.model, kModelHelp)->required();
  command->add_flag("--json", options.json, "one JSON object on standard output");
  command->add_flag("--why", options.why,
                    "also the candidates of each operator on this device, and what they refuse and why");
  command->add_option(
      "--gpu", options.gpu,
      "device for the ceiling: h200, b200, rtx-pro-6000, rtx-5090, with xN for several (h200x2)");
  command
      ->add_option("--context", options.context,
                   "tokens of context that the ceiling and the memory plan assume (without it: no context "
                   "for the ceiling, the longest one for the plan)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  return command;
}

CLI::App* add_quantize(CLI::App& app, QuantizeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "quantize", "a BF16 checkpoint to NVFP4 or FP8; goes on where an earlier run stopped");
  command->add_option("model", options.model, "folder of the BF16 checkpoint")->required();
  command
      ->add_option(
          "--to", options.to,
          "experts (routed experts NVFP4), mixed (MLP, experts, head NVFP4; attention and delta-net FP8), "
          "nvfp4 (all of these NVFP4), fp8 (blocks of 128 by 128)")
      ->required()
      ->check(CLI::IsMember({"experts", "mixed", "nvfp4", "fp8"}));
  command
      ->add_option("--output", options.output, "folder for the result: empty, not there, or an earlier run's")
      ->required();
  command
      ->add_option("--shard-size", options.shard_bytes,
                   "most bytes of tensors in a file: 5GB, 500MB, 4GiB (default 5GB)")
      ->transform(CLI::AsSizeValue(true));
  command->add_flag("--json", options.json, "one JSON object on standard output");
  return command;
}

CLI::App* add_tokenize(CLI::App& app, TokenizeOptions& options) {
  CLI::App* command = app.add_subcommand(
      "tokenize", "text to ids, or ids to text with --decode; reads standard input without --text");
  command->add_option("model", options.model, "folder that holds tokenizer.json, or the file itself")
      ->required();
  command->add_option("--text", options.text, "the text, or the ids with --decode");
  command->add_flag("--decode", options.decode, "ids (numbers between spaces or commas) to text");
  command->add_flag("--json", options.json, "one JSON object on standard output");
  command->add_flag("--lines", options.lines,
                    "one JSON string (with --decode: one JSON array of ids) per input line and output line");
  command->add_flag("--skip-special", options.skip_special, "with --decode: leave control tokens out");
  command
      ->add_option_function<std::string>(
          "--specials", [&options](const std::string& value) { options.parse_specials = value == "parse"; },
          "control tokens in the text: 'text' (default) keeps them text, 'parse' makes them control tokens")
      ->check(CLI::IsMember({"text", "parse"}));
  return command;
}

void add_model(CLI::App* command, ModelOptions& options) {
  command->add_option("model", options.model, kModelHelp)->required();
  command->add_option("--device", options.device, "where it runs: cpu")->capture_default_str();
  command
      ->add_option("--max-model-len", options.max_model_len,
                   "tokens of context to make room for, prompt and answer together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option(
      "--force", options.force,
      "OPERATOR=CANDIDATE that must run, as in matmul=cpu/any/loops; may be given several times");
  command->add_option("--ban", options.ban,
                      "OPERATOR=CANDIDATE that must not run; may be given several times");
}

void add_drafts(CLI::App* command, int& drafts) {
  command->add_option("--drafts", drafts, "guesses of the draft head (MTP) to verify with each step")
      ->check(CLI::Range(0, 8))
      ->capture_default_str();
}

void add_sampling(CLI::App* command, SamplingOptions& options) {
  command->add_option("--temperature", options.temperature, "0 takes the most likely token")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--top-p", options.top_p, "the smallest set of tokens with this probability")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--top-k", options.top_k, "the most likely K tokens; 0: all")
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--min-p", options.min_p, "tokens at least this likely, relative to the likeliest")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", options.seed, "the same seed gives the same text");
  command
      ->add_option("--max-tokens", options.max_tokens,
                   "the answer's length at most (without it: until the context is full)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  add_drafts(command, options.drafts);
}

void add_words(CLI::App* command, std::optional<std::string>& system,
               std::optional<std::string>& chat_template, std::optional<bool>& thinking) {
  command->add_option("--system", system, "system message");
  command->add_option("--chat-template", chat_template, "Jinja file instead of the checkpoint's template");
  command
      ->add_option_function<std::string>(
          "--thinking", [&thinking](const std::string& value) { thinking = value == "on"; },
          "on or off (without it: as the checkpoint's template has it)")
      ->check(CLI::IsMember({"on", "off"}));
}

CLI::App* add_generate(CLI::App& app, GenerateOptions& options) {
  CLI::App* command =
      app.add_subcommand("generate", "one completion of a prompt; reads standard input without --prompt");
  add_model(command, options.model);
  add_sampling(command, options.sampling);
  add_words(command, options.system, options.chat_template, options.thinking);
  command->add_option("--prompt", options.prompt, "the prompt");
  command->add_flag("--raw", options.raw,
                    "continue the text as it stands, without the chat template; control tokens in it count");
  command->add_option("--logits", options.logits,
                      "write the logits behind every prompt token to this file (safetensors)");
  command->add_flag("--json", options.json, "one JSON object on standard output");
  return command;
}

CLI::App* add_chat(CLI::App& app, ChatOptions& options) {
  CLI::App* command = app.add_subcommand("chat", "a conversation in the terminal");
  add_model(command, options.model);
  add_sampling(command, options.sampling);
  add_words(command, options.system, options.chat_template, options.thinking);
  return command;
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "bench",
      "how fast this machine decodes and reads prompts, the share of its ceiling, and where the time goes");
  add_model(command, options.model);
  add_drafts(command, options.drafts);
  command->add_option("--context", options.context, "tokens before the decoded ones")->capture_default_str();
  command->add_option("--steps", options.steps, "decoded tokens that are timed")->capture_default_str();
  command->add_option("--prompt-tokens", options.prompts, "lengths of prompts that are timed")
      ->capture_default_str();
  command->add_flag("--json", options.json, "one JSON object on standard output");
  return command;
}

// No command was recognised: say which word was taken for one, and what there is.
[[noreturn]] void refuse_command(const CLI::App& app, int argc, const char* const* argv) {
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    known += (known.empty() ? "" : ", ") + command->get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--log-level") {
      ++i;
    } else if (word.starts_with("-")) {
      if (!word.starts_with("--log-level"))
        fail(ErrorKind::BadInput, "option {} is not known before a command; commands are {}", word, known);
    } else {
      fail(ErrorKind::BadInput, "'{}' is not a command; commands are {}", word, known);
    }
  }
  fail(ErrorKind::BadInput, "no command; commands are {}; 'redline --help' says more", known);
}

}  // namespace

Settings read_settings(int argc, const char* const* argv) {
  CLI::App app("redline runs the Qwen3.5 family and says how close it comes to what the hardware allows.",
               "redline");
  app.require_subcommand(1);
  app.fallthrough();
  bool version = false;
  std::string level = "info";
  app.add_flag("--version", version, "print the version and leave")->trigger_on_parse();
  app.add_option("--log-level", level, "debug, info, warn, error or off")
      ->envname("REDLINE_LOG_LEVEL")
      ->capture_default_str();
  InspectOptions inspect_options;
  QuantizeOptions quantize_options;
  TokenizeOptions tokenize_options;
  CLI::App* inspect = add_inspect(app, inspect_options);
  CLI::App* tokenize = add_tokenize(app, tokenize_options);
  CLI::App* quantize = add_quantize(app, quantize_options);
  GenerateOptions generate_options;
  CLI::App* generate = add_generate(app, generate_options);
  ChatOptions chat_options;
  CLI::App* chat = add_chat(app, chat_options);
  BenchOptions bench_options;
  CLI::App* bench = add_bench(app, bench_options);

  Settings settings;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
    settings.command = Message{asked->help()};
    return settings;
  } catch (const CLI::ParseError& error) {
    if (version) {
      settings.command = Message{fmt::format("redline {}\n", kVersion)};
      return settings;
    }
    if (app.get_subcommands().empty()) refuse_command(app, argc, argv);
    fail(ErrorKind::BadInput, "{}; 'redline {} --help' lists what there is", error.what(),
         app.get_subcommands().front()->get_name());
  }
  if (version) {
    settings.command = Message{fmt::format("redline {}\n", kVersion)};
    return settings;
  }

  const auto parsed = log::level_from_name(level);
  ensure(parsed.has_value(), ErrorKind::BadInput,
         "--log-level is '{}', expected debug, info, warn, error or off", level);
  settings.log_level = *parsed;
  if (inspect->parsed()) settings.command = std::move(inspect_options);
  if (tokenize->parsed()) settings.command = std::move(tokenize_options);
  if (generate->parsed()) settings.command = std::move(generate_options);
  if (chat->parsed()) settings.command = std::move(chat_options);
  if (bench->parsed()) settings.command = std::move(bench_options);
  if (quantize->parsed()) settings.command = std::move(quantize_options);
  return settings;
}

}  // namespace redline::cli
