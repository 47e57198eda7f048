// What tokenizer.json may say, and the exact sentence for what it may not.
#include "text/tokenizer_file.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"
#include "text/tiny_tokenizer.hpp"

namespace redline::text {
namespace {

using test::TinyTokenizer;

struct Refusal {
  ErrorKind kind = ErrorKind::Internal;
  std::string message = "nothing was thrown";
};

Refusal refusal_of(const std::string& json) {
  try {
    read_tokenizer_json(json, "t.json");
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

Refusal refusal_of(const std::function<void(TinyTokenizer&)>& change) {
  TinyTokenizer parts;
  change(parts);
  return refusal_of(parts.json());
}

TEST(TokenizerFile, ReadsBothSpellingsOfMerges) {
  TinyTokenizer parts;
  const TokenizerFile strings = read_tokenizer_json(parts.json(), "t.json");
  parts.merges = R"([["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"], ["Ã", "©"]])";
  const TokenizerFile pairs = read_tokenizer_json(parts.json(), "t.json");
  ASSERT_EQ(strings.merges.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(strings.merges[i].left, pairs.merges[i].left);
    EXPECT_EQ(strings.merges[i].right, pairs.merges[i].right);
    EXPECT_EQ(strings.merges[i].result, pairs.merges[i].result);
  }
  EXPECT_EQ(strings.merges[3].left, 258);
  EXPECT_EQ(strings.merges[3].right, 'o');
  EXPECT_EQ(strings.merges[3].result, 259);
}

TEST(TokenizerFile, ReadsFlagsOfAddedTokens) {
  TinyTokenizer parts;
  parts.added_tokens =
      R"([{"id": 270, "content": "<a>", "single_word": true, "lstrip": true, "rstrip": true, "normalized": true, "special": true},
          {"id": 65, "content": "A", "special": true}, {"id": 261, "content": "a b"}])";
  const TokenizerFile file = read_tokenizer_json(parts.json(), "t.json");
  ASSERT_EQ(file.added_tokens.size(), 3u);
  const AddedToken& all = file.added_tokens[0];
  EXPECT_TRUE(all.single_word && all.lstrip && all.rstrip && all.normalized && all.special);
  const AddedToken& one = file.added_tokens[1];
  EXPECT_FALSE(one.single_word || one.lstrip || one.rstrip || one.normalized);
  EXPECT_EQ(file.pieces.size(), 271u);
  EXPECT_EQ(file.pieces[261], "a b");
  EXPECT_EQ(file.pieces[262], "");
}

TEST(TokenizerFile, TakesTheHarmlessVariants) {
  for (const std::string normalizer : {"null", R"({"type": "Sequence", "normalizers": []})",
                                       R"({"type": "Sequence", "normalizers": [{"type": "NFC"}]})"}) {
    TinyTokenizer parts;
    parts.normalizer = normalizer;
    EXPECT_EQ(read_tokenizer_json(parts.json(), "t.json").nfc, normalizer.find("NFC") != std::string::npos);
  }
  for (
      const std::string processor :
      {R"({"type": "ByteLevel", "trim_offsets": false, "add_prefix_space": true, "use_regex": true})",
       R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {}})",
       R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}]})"}) {
    TinyTokenizer parts;
    parts.post_processor = processor;
    EXPECT_NO_THROW(read_tokenizer_json(parts.json(), "t.json")) << processor;
  }
  TinyTokenizer parts;
  parts.pre_tokenizer =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})";
  EXPECT_EQ(read_tokenizer_json(parts.json(), "t.json").split, SplitPattern::Gpt2);
}

TEST(TokenizerFile, NamesLineConstructAndWhatIsExpected) {
  const auto expect = [](const Refusal& found, ErrorKind kind, std::string_view message) {
    EXPECT_EQ(found.message, message);
    EXPECT_EQ(found.kind, kind);
  };
  expect(refusal_of([](auto& t) { t.normalizer = R"({"type": "Lowercase"})"; }), ErrorKind::Unsupported,
         "t.json:5: normalizer is \"Lowercase\", expected null, NFC or a Sequence of one NFC");
  expect(refusal_of([](auto& t) {
           t.normalizer = R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]})";
         }),
         ErrorKind::Unsupported,
         "t.json:5: normalizer is \"Sequence\", expected null, NFC or a Sequence of one NFC");
  expect(refusal_of([](auto& t) { t.pre_tokenizer = "null"; }), ErrorKind::Unsupported,
         "t.json:6: pre_tokenizer is null, expected a Sequence of Split and ByteLevel, or ByteLevel alone");
  expect(refusal_of([](auto& t) { t.pre_tokenizer = R"({"type": "Whitespace"})"; }), ErrorKind::Unsupported,
         "t.json:6: pre_tokenizer is \"Whitespace\", expected a Sequence of Split and ByteLevel, or "
         "ByteLevel alone");
  expect(refusal_of([](auto& t) { t.pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true})"; }),
         ErrorKind::Unsupported, "t.json:6: pre_tokenizer: add_prefix_space is true, expected false");
  expect(refusal_of([](auto& t) { t.post_processor = R"({"type": "BertProcessing"})"; }),
         ErrorKind::Unsupported,
         "t.json:9: post_processor is \"BertProcessing\", expected null, ByteLevel or a TemplateProcessing "
         "that adds no tokens");
  expect(refusal_of([](auto& t) {
           t.post_processor =
               R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}]})";
         }),
         ErrorKind::Unsupported,
         "t.json:9: post_processor adds tokens to every text, expected a template that adds none");
  expect(refusal_of([](auto& t) { t.decoder = "null"; }), ErrorKind::Unsupported,
         "t.json:10: decoder is null, expected ByteLevel");
  expect(refusal_of([](auto& t) { t.model_head = R"("type": "WordPiece")"; }), ErrorKind::Unsupported,
         "t.json:11: model.type is \"WordPiece\", expected \"BPE\"");
  expect(refusal_of([](auto& t) { t.model_head = R"("type": "BPE", "byte_fallback": true)"; }),
         ErrorKind::Unsupported, "t.json:11: model.byte_fallback is true, expected false (byte-level BPE)");
  expect(refusal_of([](auto& t) { t.model_head = R"("type": "BPE", "dropout": 0.1)"; }),
         ErrorKind::Unsupported, "t.json:11: model.dropout is 0.1, expected null");
  expect(refusal_of([](auto& t) { t.model_head = R"("type": "BPE", "unk_token": "<unk>")"; }),
         ErrorKind::Unsupported, "t.json:11: model.unk_token is \"<unk>\", expected null");
  expect(
      refusal_of([](auto& t) { t.model_head = R"("type": "BPE", "temperature": 1)"; }),
      ErrorKind::Unsupported,
      "t.json:11: field \"model.temperature\" is not known, expected one of type, dropout, unk_token, "
      "continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback, ignore_merges, vocab, merges");
  expect(refusal_of([](auto& t) { t.merges = "[\n\"h e\",\n\"he l l\"]"; }), ErrorKind::BadCheckpoint,
         "t.json:271: model.merges[1] is \"he l l\", expected \"left right\" or [\"left\", \"right\"]");
  expect(refusal_of([](auto& t) { t.merges = R"([["h", "e", "l"]])"; }), ErrorKind::BadCheckpoint,
         "t.json:269: model.merges[0] is a list of 3, expected \"left right\" or [\"left\", \"right\"]");
  expect(refusal_of([](auto& t) { t.merges = R"(["h x"])"; }), ErrorKind::BadCheckpoint,
         "t.json:269: model.merges[0] (\"h\", \"x\") needs a token \"hx\", which model.vocab lacks");
  expect(refusal_of([](auto& t) { t.vocabulary += ",\n\"again\": 256"; }), ErrorKind::BadCheckpoint,
         "t.json:269: tokens \"he\" and \"again\" both have id 256");
  expect(refusal_of([](auto& t) { t.vocabulary += ",\n\"he\": 300"; }), ErrorKind::BadCheckpoint,
         "t.json:269: token \"he\" has two ids, 256 and 300");
  expect(refusal_of([](auto& t) { t.vocabulary += ",\n\"far\": 2000000000"; }), ErrorKind::BadCheckpoint,
         "t.json:269: token \"far\" has id 2000000000, expected 0 to 65799 in a file of 264 tokens");
  expect(refusal_of([](auto& t) { t.vocabulary += ",\n\"far\": -1"; }), ErrorKind::BadCheckpoint,
         "t.json:269: token \"far\" has id -1, expected 0 to 65799 in a file of 264 tokens");
  expect(refusal_of([](auto& t) { t.vocabulary.erase(t.vocabulary.find("\"A\""), 9); }),
         ErrorKind::BadCheckpoint,
         "t.json:11: model.vocab lacks \"A\", the token of byte 0x41, expected one for every byte");
  expect(refusal_of([](auto& t) { t.added_tokens = R"([{"id": 261, "content": ""}])"; }),
         ErrorKind::BadCheckpoint, "t.json:2: an added token is empty");
  expect(refusal_of([](auto& t) {
           t.added_tokens = R"([{"id": 261, "content": "<a>"}, {"id": 261, "content": "<a>"}])";
         }),
         ErrorKind::BadCheckpoint, "t.json:2: added token \"<a>\" is listed twice");
  expect(refusal_of([](auto& t) { t.added_tokens = R"([{"id": 261, "content": "<a>", "colour": 1}])"; }),
         ErrorKind::Unsupported,
         "t.json:2: field \"added_tokens[0].colour\" is not known, expected one of id, content, single_word, "
         "lstrip, rstrip, "
         "normalized, special");
  expect(refusal_of("{\"version\": \"2.0\"}"), ErrorKind::Unsupported,
         "t.json:1: version is \"2.0\", expected \"1.0\"");
  // A syntax error between fields is not blamed on the field before it, one within a field is.
  const auto syntax = [](const std::string& json) { return refusal_of(json).message; };
  EXPECT_EQ(syntax("{\"version\": \"1.0\" \"model\": {}}").find("version"), std::string::npos)
      << syntax("{\"version\": \"1.0\" \"model\": {}}");
  EXPECT_TRUE(syntax("{\"version\": 7}").starts_with("t.json:1: version: ")) << syntax("{\"version\": 7}");
  EXPECT_TRUE(
      syntax("{\"added_tokens\": [{\"id\": 1 \"content\": 2}]}").starts_with("t.json:1: added_tokens[0]: "))
      << syntax("{\"added_tokens\": [{\"id\": 1 \"content\": 2}]}");
  expect(refusal_of("{}"), ErrorKind::Unsupported,
         "t.json:1: pre_tokenizer is null, expected a Sequence of Split and ByteLevel, or ByteLevel alone");
}

TEST(TokenizerFile, SplitMustBeOneThatWasCompared) {
  const auto split = [](std::string_view fields) {
    return [fields](TinyTokenizer& t) {
      t.pre_tokenizer = fmt::format(
          "{{\"type\": \"Sequence\", \"pretokenizers\": [{{\"type\": \"Split\", {}}},\n"
          "{{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}}]}}",
          fields);
    };
  };
  const Refusal pattern = refusal_of(split(R"("pattern": {"Regex": "\\d+"}, "behavior": "Isolated")"));
  EXPECT_EQ(pattern.kind, ErrorKind::Unsupported);
  EXPECT_TRUE(
      pattern.message.starts_with("t.json:6: pre_tokenizer.pretokenizers[0]: pattern \\d+ is not known, "
                                  "expected that of Qwen3.5 ((?i:'s|"))
      << pattern.message;
  EXPECT_EQ(refusal_of(split(R"("pattern": {"Regex": "\\d+"}, "behavior": "Removed")")).message,
            "t.json:6: pre_tokenizer.pretokenizers[0]: behavior is \"Removed\", expected \"Isolated\"");
  EXPECT_EQ(refusal_of(split(R"("pattern": {"String": " "}, "behavior": "Isolated")")).message,
            "t.json:6: pre_tokenizer.pretokenizers[0] of type Split has a field \"pattern.String\" that is "
            "not known");
}

TEST(TokenizerFile, BrokenJsonNamesTheLine) {
  const std::string whole = TinyTokenizer{}.json();
  EXPECT_EQ(refusal_of("{\"version\": \"1.0\",\n\"added_tokens\":\n[{\"id\": \"x\"}]}").message.substr(0, 30),
            "t.json:3: added_tokens[0].id: ");
  EXPECT_EQ(refusal_of(std::string("{\"version\":\n\"\xff\"}")).message, "t.json:2: byte 13 is not UTF-8");
  EXPECT_TRUE(refusal_of("").message.starts_with("t.json:1: ")) << refusal_of("").message;
  EXPECT_TRUE(refusal_of("[]").message.starts_with("t.json:1: ")) << refusal_of("[]").message;
  EXPECT_EQ(refusal_of(whole + "\n{}").message, "t.json:271: found text after the end of the JSON object");
  EXPECT_EQ(refusal_of("{\"version\": \"1.0\", \"version\": \"1.0\", \"x\": 1}").message,
            "t.json:1: field \"x\" is not known, expected one of version, truncation, padding, added_tokens, "
            "normalizer, "
            "pre_tokenizer, post_processor, decoder, model");
}

// Every shorter file is refused by our error, none crashes and none is taken for whole.
TEST(TokenizerFile, TruncationAtEveryByte) {
  std::string whole = TinyTokenizer{}.json();
  while (whole.back() == '\n') whole.pop_back();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Refusal found = refusal_of(whole.substr(0, size));
    ASSERT_NE(found.message, "nothing was thrown") << size;
    ASSERT_TRUE(found.message.starts_with("t.json:")) << found.message;
  }
}

TEST(TokenizerFile, MissingFileSaysWhatItIsFor) {
  const test::TemporaryFolder folder;
  try {
    read_tokenizer_file(folder.path());
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_EQ(error.what(), (folder.path() / "tokenizer.json").string() +
                                ": no such file; text needs the checkpoint's tokenizer.json");
  }
}

}  // namespace
}  // namespace redline::text
