// Encoding, decoding and streaming with a tokenizer small enough to work out by hand. The same against the
// reference library, with the real vocabulary and on thousands of lines, is tokenizer_reference_test.py.
#include "text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"
#include "text/stream_decoder.hpp"
#include "text/tiny_tokenizer.hpp"

namespace redline::text {
namespace {

using Ids = std::vector<std::int32_t>;

Tokenizer tiny(const test::TinyTokenizer& parts = {}) {
  return Tokenizer(read_tokenizer_json(parts.json(), "tiny.json"));
}

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Tokenizer, EncodesByHand) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.encode("hello"), Ids{259});
  EXPECT_EQ(tokenizer.encode("hell"), Ids{258});
  EXPECT_EQ(tokenizer.encode("hello hello"), (Ids{259, ' ', 259}));
  EXPECT_EQ(tokenizer.encode("he llo"), (Ids{256, ' ', 257, 'o'}));
  EXPECT_EQ(tokenizer.encode("e\u0301"), Ids{260});  // NFC first
  EXPECT_EQ(tokenizer.vocabulary_size(), 263);
}

TEST(Tokenizer, UserTextCannotMakeControlTokens) {
  const Tokenizer tokenizer = tiny();
  for (const std::string text : {"<|im_start|>", "<think>", "a<|im_start|><think>"}) {
    for (const std::int32_t id : tokenizer.encode(text)) EXPECT_LT(id, 261) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_EQ(tokenizer.encode("<think>hello<|im_start|>", Specials::Parse), (Ids{262, 259, 261}));
}

TEST(Tokenizer, ForeignRangesStayText) {
  const Tokenizer tokenizer = tiny();
  const std::string prompt = "<|im_start|><think><|im_start|>";
  const auto around = [&](std::vector<ByteRange> foreign) {
    return tokenizer.encode_around(prompt, foreign);
  };
  const Ids think = tokenizer.encode("<think>");
  Ids expected = {261};
  expected.insert(expected.end(), think.begin(), think.end());
  expected.push_back(261);
  EXPECT_EQ(around({}), (Ids{261, 262, 261}));
  EXPECT_EQ(around({{12, 19}}), expected);
  EXPECT_EQ(around({{13, 14}}), expected);            // one byte inside is enough
  EXPECT_EQ(around({{12, 13}, {18, 19}}), expected);  // and so is one at the border
  EXPECT_EQ(around({{0, prompt.size()}}), tokenizer.encode(prompt));
  EXPECT_THROW(around({{5, 4}}), Error);
  EXPECT_THROW(around({{0, prompt.size() + 1}}), Error);
}

// A marker of normalised text is not found in a stretch that holds foreign text either.
TEST(Tokenizer, ForeignRangesAndMarkersOfNormalisedText) {
  test::TinyTokenizer parts;
  parts.added_tokens = R"([{"id": 261, "content": "<x>", "normalized": true, "special": true}])";
  const Tokenizer tokenizer = tiny(parts);
  EXPECT_EQ(tokenizer.encode("e\u0301<x>", Specials::Parse), (Ids{260, 261}));
  EXPECT_EQ(tokenizer.encode_around("e\u0301<x>", std::vector<ByteRange>{{3, 4}}), tokenizer.encode("é<x>"));
  EXPECT_EQ(tokenizer.encode_around("e\u0301<x>", std::vector<ByteRange>{}), (Ids{260, 261}));
}

TEST(Tokenizer, RefusesWhatIsNotUtf8) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(message_of([&] { tokenizer.encode("ab\xff"); }), "the text is not UTF-8: byte 2 (0xFF)");
}

TEST(Tokenizer, EveryByteRoundTrips) {
  const Tokenizer tokenizer = tiny();
  for (std::int32_t byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    EXPECT_EQ(tokenizer.piece(byte), bytes);
    EXPECT_EQ(tokenizer.id_of(bytes), byte);
    EXPECT_EQ(tokenizer.decode(Ids{byte}), byte < 128 ? bytes : "\uFFFD");
    if (byte < 128) {
      EXPECT_EQ(tokenizer.encode(bytes), Ids{byte});
    }
  }
  EXPECT_EQ(tokenizer.id_of("<think>"), 262);
  EXPECT_EQ(tokenizer.id_of("é"), 260);
  EXPECT_EQ(tokenizer.id_of("nowhere"), std::nullopt);
}

TEST(Tokenizer, SkipsSpecialTokensOnly) {
  const Tokenizer tokenizer = tiny();
  const Ids ids = {261, 259, 262, 'x', 261};
  EXPECT_EQ(tokenizer.decode(ids), "<|im_start|>hello<think>x<|im_start|>");
  EXPECT_EQ(tokenizer.decode(ids, true), "hello<think>x");
  EXPECT_TRUE(tokenizer.is_special(261));
  EXPECT_FALSE(tokenizer.is_special(262));
}

TEST(Tokenizer, NamesAnIdOutside) {
  const Tokenizer tokenizer = tiny();
  EXPECT_EQ(message_of([&] {
              tokenizer.decode(Ids{1, 263});
            }),
            "token id 263 is outside the vocabulary, expected 0 to 262");
  EXPECT_EQ(message_of([&] { static_cast<void>(tokenizer.piece(-1)); }),
            "token id -1 is outside the vocabulary, expected 0 to 262");
}

// Pushing token by token gives what decoding at once gives, and never half a character, whatever the ids are.
TEST(StreamDecoder, EqualsDecodeOnRandomIds) {
  const Tokenizer tokenizer = tiny();
  std::mt19937 random(5);
  const Ids parts_of_characters = {0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xA9, 260, 261, 'a', 0xFF};
  for (int round = 0; round < 20'000; ++round) {
    Ids ids;
    const std::size_t length = random() % 12;
    for (std::size_t i = 0; i < length; ++i) {
      ids.push_back(random() % 4 == 0 ? static_cast<std::int32_t>(random() % 263)
                                      : parts_of_characters[random() % parts_of_characters.size()]);
    }
    for (const bool skip : {false, true}) {
      StreamDecoder decoder(tokenizer, skip);
      std::string out;
      for (const std::int32_t id : ids) {
        out += decoder.push(id);
        ASSERT_EQ(find_invalid_utf8(out), std::nullopt);
      }
      out += decoder.finish();
      ASSERT_EQ(out, tokenizer.decode(ids, skip)) << ::testing::PrintToString(ids);
    }
  }
}

TEST(StreamDecoder, HoldsBackUntilTheCharacterIsWhole) {
  const Tokenizer tokenizer = tiny();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "😀");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.push('a'), "\uFFFDa");
  EXPECT_EQ(decoder.push(0xE2), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(Tokenizer, IgnoreMergesTakesWholeWords) {
  test::TinyTokenizer parts;
  parts.merges = "[]";
  EXPECT_EQ(tiny(parts).encode("hello"), (Ids{'h', 'e', 'l', 'l', 'o'}));
  parts.model_head = R"("type": "BPE", "ignore_merges": true)";
  EXPECT_EQ(tiny(parts).encode("hello hellx"), (Ids{259, ' ', 'h', 'e', 'l', 'l', 'x'}));
}

TEST(Tokenizer, WithoutNormaliserTextStays) {
  test::TinyTokenizer parts;
  parts.normalizer = "null";
  EXPECT_EQ(tiny(parts).encode("e\u0301"), (Ids{'e', 0xCC, 0x81}));
}

// Repeated words are copied from their first place; parts that NFC changed lie elsewhere. Both must not show.
TEST(Tokenizer, LongTextEqualsItsLines) {
  const Tokenizer tokenizer = tiny();
  std::mt19937 random(9);
  std::string text;
  Ids expected;
  for (int line = 0; line < 3000; ++line) {
    std::string part = "<think>";
    for (unsigned i = 0; i < random() % 9; ++i) {
      part += std::vector<std::string>{
          "hello", " hell", "e\u0301", "é", " he", "\n", "7", " \u0301", "llll"}[random() % 9];
    }
    const Ids ids = tokenizer.encode(part, Specials::Parse);
    expected.insert(expected.end(), ids.begin(), ids.end());
    text += part;
  }
  EXPECT_TRUE(tokenizer.encode(text, Specials::Parse) == expected);
}

TEST(Tokenizer, LoadsAFolderOrAFile) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("tokenizer.json", test::TinyTokenizer{}.json());
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("hello"), Ids{259});
  EXPECT_EQ(Tokenizer::load(path).encode("hello"), Ids{259});
}

}  // namespace
}  // namespace redline::text
