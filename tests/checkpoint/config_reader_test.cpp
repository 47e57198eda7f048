// Fields with their paths: every error names the file, the field, what was found and what was expected.
#include "checkpoint/config_reader.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"

namespace redline::checkpoint {
namespace {

template <class Body>
std::string error_of(Body&& body, ErrorKind kind = ErrorKind::BadCheckpoint) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

ConfigValue parse(std::string_view json) { return parse_config(json, "config.json"); }

TEST(ConfigReader, ReadsEveryType) {
  const ConfigValue root =
      parse(R"({"i": -3, "whole": 4.0, "r": 1e-06, "t": true, "s": "silu", "a": [1, [2]], "o": {"x": 7}})");
  EXPECT_EQ(root.at("i").integer(), -3);
  EXPECT_EQ(root.at("whole").integer(), 4);
  EXPECT_DOUBLE_EQ(root.at("r").number(), 1e-6);
  EXPECT_DOUBLE_EQ(root.at("i").number(), -3);
  EXPECT_TRUE(root.at("t").boolean());
  EXPECT_EQ(root.at("s").text(), "silu");
  EXPECT_EQ(root.at("a").items()[1].items()[0].integer(), 2);
  EXPECT_EQ(root.at("o").members()[0].first, "x");
  EXPECT_EQ(root.members().size(), 7U);
  EXPECT_EQ(root.at("a").items()[1].items()[0].where(), "config.json: a[1][0]");
}

TEST(ConfigReader, ValuesOutliveTheRoot) {
  const ConfigValue inner =
      parse(R"({"text_config": {"layer_types": ["linear_attention"]}})").at("text_config");
  EXPECT_EQ(inner.at("layer_types").items()[0].text(), "linear_attention");
}

TEST(ConfigReader, NullIsAbsent) {
  const ConfigValue root = parse(R"({"text_config": {"bos_token_id": null}})");
  EXPECT_FALSE(root.at("text_config").find("bos_token_id").has_value());
  EXPECT_FALSE(root.find("nothing").has_value());
  EXPECT_EQ(error_of([&] { root.at("text_config").at("bos_token_id"); }),
            "config.json: text_config.bos_token_id is missing");
}

TEST(ConfigReader, ErrorsSayWhereWhatAndWhatElse) {
  const ConfigValue root = parse(
      R"({"text_config": {"hidden_size": "wide", "heads": -1, "big": 18446744073709551615, "part": 1.5, "list": [1, true], "o": {}}})");
  const ConfigValue text = root.at("text_config");
  EXPECT_EQ(error_of([&] { text.at("hidden_size").integer(1, 8); }),
            "config.json: text_config.hidden_size: expected an integer from 1 to 8, found \"wide\"");
  EXPECT_EQ(error_of([&] { text.at("heads").integer(1, 8); }),
            "config.json: text_config.heads: expected an integer from 1 to 8, found -1");
  EXPECT_EQ(error_of([&] { text.at("part").integer(); }),
            "config.json: text_config.part: expected an integer, found 1.5");
  EXPECT_NE(error_of([&] {
              text.at("big").integer(1, 8);
            }).find("text_config.big: expected an integer from 1 to 8"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { text.at("list").items()[1].number(); }),
            "config.json: text_config.list[1]: expected a number, found true");
  EXPECT_EQ(error_of([&] { text.at("list").text(); }),
            "config.json: text_config.list: expected a text, found an array of 2");
  EXPECT_EQ(error_of([&] { text.at("o").items(); }),
            "config.json: text_config.o: expected an array, found an object of 0 fields");
  EXPECT_EQ(error_of([&] { text.at("heads").find("x"); }),
            "config.json: text_config.heads: expected an object, found -1");
  EXPECT_EQ(error_of([&] { text.at("heads").boolean(); }),
            "config.json: text_config.heads: expected true or false, found -1");
}

TEST(ConfigReader, RefusesWhatIsNotOneObject) {
  EXPECT_NE(error_of([] { parse(""); }).find("config.json: not valid JSON"), std::string::npos);
  EXPECT_NE(error_of([] { parse("{\"a\": 1"); }).find("config.json: not valid JSON"), std::string::npos);
  EXPECT_NE(error_of([] { parse("{\"a\": NaN}"); }).find("config.json: not valid JSON"), std::string::npos);
  EXPECT_EQ(error_of([] { parse("[1]"); }), "config.json: expected a JSON object");
  EXPECT_NE(error_of([] { parse(std::string(200, '[')); }).find("not valid JSON"), std::string::npos);
}

TEST(ConfigReader, AFieldMayStandOnce) {
  EXPECT_EQ(error_of([] { parse(R"({"text_config": {"hidden_size": 1, "hidden_size": 2}})"); }),
            "config.json: text_config.hidden_size: the field stands there twice");
}

TEST(ConfigReader, ReadsFiles) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_config_file(folder.write("config.json", "{\"a\": 5}")).at("a").integer(), 5);
  EXPECT_NE(error_of([&] { read_config_file(folder.path() / "absent.json"); }, ErrorKind::Io)
                .find("absent.json: cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace redline::checkpoint
