// The command line: what is understood, and what is said when it is not.
#include "cli/settings.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace redline::cli {
namespace {

Settings read(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"redline"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return read_settings(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(std::initializer_list<const char*> arguments) {
  try {
    read(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "";
}

TEST(Settings, InspectWithItsOptions) {
  const Settings settings = read({"inspect", "some/folder", "--json", "--gpu", "h200x2"});
  const auto& options = std::get<InspectOptions>(settings.command);
  EXPECT_EQ(options.model, "some/folder");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.gpu, "h200x2");
}

TEST(Settings, GlobalOptionsStandBeforeOrAfterTheCommand) {
  EXPECT_EQ(read({"--log-level", "debug", "inspect", "m"}).log_level, log::Level::Debug);
  EXPECT_EQ(read({"inspect", "m", "--log-level", "off"}).log_level, log::Level::Off);
}

TEST(Settings, TokenizeKeepsControlTokensOutUnlessAsked) {
  EXPECT_FALSE(std::get<TokenizeOptions>(read({"tokenize", "m", "--text", "x"}).command).parse_specials);
  EXPECT_TRUE(std::get<TokenizeOptions>(read({"tokenize", "m", "--text", "x", "--specials", "parse"}).command)
                  .parse_specials);
}

TEST(Settings, HelpAndVersionAreMessages) {
  EXPECT_NE(std::get<Message>(read({"--help"}).command).text.find("inspect"), std::string::npos);
  EXPECT_NE(std::get<Message>(read({"inspect", "--help"}).command).text.find("--gpu"), std::string::npos);
  EXPECT_EQ(std::get<Message>(read({"--version"}).command).text, "redline 0.1.0\n");
}

TEST(Settings, RefusalsNameTheWordAndTheWayOut) {
  EXPECT_EQ(refusal({}),
            "no command; commands are inspect, tokenize, quantize, generate, chat, bench; 'redline --help' "
            "says more");
  EXPECT_EQ(refusal({"inspekt", "m"}),
            "'inspekt' is not a command; commands are inspect, tokenize, quantize, generate, chat, bench");
  EXPECT_EQ(refusal({"--log-level", "info", "--json"}),
            "option --json is not known before a command; commands are inspect, tokenize, quantize, "
            "generate, chat, bench");
  EXPECT_EQ(refusal({"inspect"}), "model is required; 'redline inspect --help' lists what there is");
  EXPECT_EQ(
      refusal({"inspect", "m", "--gpus", "h200"}),
      "The following arguments were not expected: h200 --gpus; 'redline inspect --help' lists what there is");
  EXPECT_EQ(refusal({"inspect", "m", "--log-level", "loud"}),
            "--log-level is 'loud', expected debug, info, warn, error or off");
}

TEST(Settings, QuantizeWithItsOptions) {
  const Settings settings =
      read({"quantize", "in", "--to", "mixed", "--output", "out", "--shard-size", "2GB", "--json"});
  const auto& options = std::get<QuantizeOptions>(settings.command);
  EXPECT_EQ(options.model, "in");
  EXPECT_EQ(options.to, "mixed");
  EXPECT_EQ(options.output, "out");
  EXPECT_EQ(options.shard_bytes, 2'000'000'000u);
  EXPECT_TRUE(options.json);
  const Settings plain = read({"quantize", "in", "--to", "fp8", "--output", "out"});
  EXPECT_EQ(std::get<QuantizeOptions>(plain.command).shard_bytes, 5'000'000'000u);
  const Settings binary = read({"quantize", "in", "--to", "fp8", "--output", "out", "--shard-size", "4GiB"});
  EXPECT_EQ(std::get<QuantizeOptions>(binary.command).shard_bytes, std::uint64_t{4} << 30);
}

TEST(Settings, QuantizeNeedsAPlanAndAFolder) {
  EXPECT_NE(refusal({"quantize", "in", "--output", "out"}).find("--to"), std::string::npos);
  EXPECT_NE(refusal({"quantize", "in", "--to", "fp8"}).find("--output"), std::string::npos);
  EXPECT_NE(refusal({"quantize", "in", "--to", "int4", "--output", "out"}).find("int4"), std::string::npos);
  EXPECT_NE(refusal({"quantize", "in", "--to", "fp8", "--output", "o", "--shard-size", "big"}), "");
}

}  // namespace
}  // namespace redline::cli
