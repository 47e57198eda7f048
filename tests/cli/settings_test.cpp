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
  EXPECT_EQ(refusal({}), "no command; commands are inspect, tokenize; 'redline --help' says more");
  EXPECT_EQ(refusal({"inspekt", "m"}), "'inspekt' is not a command; commands are inspect, tokenize");
  EXPECT_EQ(refusal({"--log-level", "info", "--json"}),
            "option --json is not known before a command; commands are inspect, tokenize");
  EXPECT_EQ(refusal({"inspect"}), "model is required; 'redline inspect --help' lists what there is");
  EXPECT_EQ(
      refusal({"inspect", "m", "--gpus", "h200"}),
      "The following arguments were not expected: h200 --gpus; 'redline inspect --help' lists what there is");
  EXPECT_EQ(refusal({"inspect", "m", "--log-level", "loud"}),
            "--log-level is 'loud', expected debug, info, warn, error or off");
}

}  // namespace
}  // namespace redline::cli
