// Reads tokenizer.json with simdjson, front to back in one pass: the file of a Qwen3.5 model has 20 MB.
#include "text/tokenizer_file.hpp"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "core/log.hpp"
#include "text/tokenizer_parts.hpp"
#include "text/utf8.hpp"

namespace redline::text {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kLargestFile = std::size_t{512} << 20;
constexpr int kDeepestSequence = 4;

class Reader {
 public:
  explicit Reader(const JsonSource& source) : source_(source) {}

  TokenizerParts read(ondemand::document& document) {
    TokenizerParts parts;
    for (auto item : document.get_object()) {
      const std::string_view key = item.unescaped_key();
      ondemand::value value = item.value();
      field_ = key;
      if (key == "version") {
        version(value);
      } else if (key == "truncation" || key == "padding") {
        if (!value.is_null()) {
          log::warn("{}: \"{}\" is not applied: texts are never cut or filled up here", source_.name, key);
        }
      } else if (key == "added_tokens") {
        added_tokens(value, parts);
      } else if (key == "normalizer") {
        parts.normalizer = component(value, "normalizer", 0);
      } else if (key == "pre_tokenizer") {
        parts.pre_tokenizer = component(value, "pre_tokenizer", 0);
      } else if (key == "post_processor") {
        parts.post_processor = component(value, "post_processor", 0);
      } else if (key == "decoder") {
        parts.decoder = component(value, "decoder", 0);
      } else if (key == "model") {
        model(value, parts);
      } else {
        unknown_field(
            value, key,
            "version, truncation, padding, added_tokens, normalizer, pre_tokenizer, post_processor, "
            "decoder, model");
      }
      field_.clear();  // a fault from here to the next field is not this one's
    }
    const char* at = nullptr;
    if (document.current_location().get(at) == simdjson::SUCCESS) {  // else: the end, as it should be
      source_.refuse(ErrorKind::BadCheckpoint, offset_of(at), "found text after the end of the JSON object");
    }
    return parts;
  }

  const std::string& field() const { return field_; }
  std::size_t offset_of(const char* at) const { return static_cast<std::size_t>(at - source_.json.data()); }

 private:
  std::size_t offset_of(ondemand::value& value) const { return offset_of(value.raw_json_token().data()); }

  [[noreturn]] void unknown_field(ondemand::value& value, std::string_view name,
                                  std::string_view known) const {
    source_.refuse(ErrorKind::Unsupported, offset_of(value),
                   fmt::format("field \"{}\" is not known, expected one of {}", name, known));
  }

  void version(ondemand::value& value) {
    const std::size_t offset = offset_of(value);
    const std::string_view text = value.get_string();
    if (text != "1.0") {
      source_.refuse(ErrorKind::Unsupported, offset,
                     fmt::format("version is \"{}\", expected \"1.0\"", text));
    }
  }

  void added_tokens(ondemand::value& value, TokenizerParts& parts) {
    for (auto element : value.get_array()) {
      ondemand::value item = element.value();
      AddedEntry entry;
      entry.offset = offset_of(item);
      const std::string field = fmt::format("added_tokens[{}]", parts.added_tokens.size());
      for (auto member : item.get_object()) {
        const std::string_view key = member.unescaped_key();
        ondemand::value content = member.value();
        field_ = fmt::format("{}.{}", field, key);
        if (key == "id") {
          entry.id = content.get_int64();
        } else if (key == "content") {
          entry.token.content = std::string_view(content.get_string());
        } else if (key == "single_word") {
          entry.token.single_word = content.get_bool();
        } else if (key == "lstrip") {
          entry.token.lstrip = content.get_bool();
        } else if (key == "rstrip") {
          entry.token.rstrip = content.get_bool();
        } else if (key == "normalized") {
          entry.token.normalized = content.get_bool();
        } else if (key == "special") {
          entry.token.special = content.get_bool();
        } else {
          unknown_field(content, field_, "id, content, single_word, lstrip, rstrip, normalized, special");
        }
        field_ = field;
      }
      field_ = "added_tokens";
      parts.added_tokens.push_back(std::move(entry));
    }
  }

  // Reads any of the four kinds of component: which fields belong to which type is tokenizer_rules.cpp's
  // business.
  Component component(ondemand::value& value, const std::string& field, int depth) {
    Component out;
    out.field = field;
    out.offset = offset_of(value);
    field_ = field;
    if (value.is_null()) return out;
    out.present = true;
    if (depth > kDeepestSequence)
      source_.refuse(ErrorKind::Unsupported, out.offset, fmt::format("{}: nested too deeply", field));
    for (auto member : value.get_object()) {
      const std::string key(std::string_view(member.unescaped_key()));
      ondemand::value content = member.value();
      field_ = fmt::format("{}.{}", field, key);
      if (key == "type") {
        out.type = std::string_view(content.get_string());
      } else if (key == "pattern") {
        pattern(content, out);
      } else if (key == "behavior") {
        out.behavior = std::string(std::string_view(content.get_string()));
      } else if (key == "invert") {
        out.invert = content.get_bool();
      } else if (key == "add_prefix_space") {
        out.add_prefix_space = content.get_bool();
      } else if (key == "use_regex") {
        out.use_regex = content.get_bool();
      } else if (key == "trim_offsets") {
        static_cast<void>(bool(content.get_bool()));  // moves offsets, not ids
      } else if (key == "normalizers" || key == "pretokenizers" || key == "processors" || key == "decoders") {
        for (auto element : content.get_array()) {
          ondemand::value child = element.value();
          out.children.push_back(
              component(child, fmt::format("{}.{}[{}]", field, key, out.children.size()), depth + 1));
        }
      } else if (key == "single") {
        for (auto element : content.get_array()) {
          ondemand::value piece = element.value();
          for (auto kind : piece.get_object())
            out.adds_tokens |= std::string_view(kind.unescaped_key()) != "Sequence";
        }
      } else if (key != "pair" && key != "special_tokens") {  // texts are never encoded in pairs
        out.unknown.push_back(key);
      }
      field_ = field;
    }
    return out;
  }

  void pattern(ondemand::value& value, Component& out) {
    for (auto member : value.get_object()) {
      const std::string key(std::string_view(member.unescaped_key()));
      ondemand::value content = member.value();
      if (key == "Regex") {
        out.regex = std::string(std::string_view(content.get_string()));
      } else {
        out.unknown.push_back("pattern." + key);
      }
    }
  }

  void model(ondemand::value& value, TokenizerParts& parts) {
    parts.model_offset = offset_of(value);
    for (auto member : value.get_object()) {
      const std::string key(std::string_view(member.unescaped_key()));
      ondemand::value content = member.value();
      field_ = "model." + key;
      if (key == "type") {
        parts.model_type = std::string(std::string_view(content.get_string()));
        if (parts.model_type != "BPE") {
          source_.refuse(ErrorKind::Unsupported, offset_of(content),
                         fmt::format("model.type is \"{}\", expected \"BPE\"", *parts.model_type));
        }
      } else if (key == "vocab") {
        vocabulary(content, parts);
      } else if (key == "merges") {
        merges(content, parts);
      } else if (key == "ignore_merges") {
        parts.ignore_merges = content.get_bool();
      } else if (key == "byte_fallback") {
        if (const std::size_t offset = offset_of(content); bool(content.get_bool())) {
          source_.refuse(ErrorKind::Unsupported, offset,
                         "model.byte_fallback is true, expected false (byte-level BPE)");
        }
      } else if (key == "dropout" || key == "unk_token" || key == "continuing_subword_prefix" ||
                 key == "end_of_word_suffix") {
        const std::string_view token = trimmed(content.raw_json_token());
        const std::size_t offset = offset_of(content);
        const bool off =
            token == "null" || token == "\"\"" || (key == "dropout" && (token == "0.0" || token == "0"));
        if (!off)
          source_.refuse(ErrorKind::Unsupported, offset,
                         fmt::format("model.{} is {}, expected null", key, token));
      } else if (key !=
                 "fuse_unk") {  // says what to do with unknown characters, which byte-level BPE does not have
        unknown_field(content, field_,
                      "type, dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, "
                      "byte_fallback, "
                      "ignore_merges, vocab, merges");
      }
      field_ = "model";
    }
  }

  static std::string_view trimmed(std::string_view token) {
    const std::size_t end = token.find_last_not_of(" \t\r\n");
    return token.substr(0, end == std::string_view::npos ? 0 : end + 1);
  }

  void vocabulary(ondemand::value& value, TokenizerParts& parts) {
    // An entry takes at least `"":0,`; no more are reserved than the file can hold.
    parts.vocabulary.reserve(std::min<std::size_t>(source_.json.size() / 16, 1 << 18));
    for (auto member : value.get_object()) {
      VocabularyEntry entry;
      entry.spelling = member.unescaped_key();
      ondemand::value content = member.value();
      entry.offset = offset_of(content);
      entry.id = content.get_int64();
      parts.vocabulary.push_back(entry);
    }
  }

  void merges(ondemand::value& value, TokenizerParts& parts) {
    parts.merges.reserve(std::min<std::size_t>(source_.json.size() / 16, 1 << 18));
    for (auto element : value.get_array()) {
      ondemand::value item = element.value();
      MergeEntry entry;
      entry.offset = offset_of(item);
      if (item.type() == ondemand::json_type::string) {
        const std::string_view both = item.get_string();
        const std::size_t space = both.find(' ');
        if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
          bad_merge(entry.offset, parts.merges.size(), fmt::format("\"{}\"", both));
        }
        entry.left = both.substr(0, space);
        entry.right = both.substr(space + 1);
      } else {
        std::size_t count = 0;
        for (auto half : item.get_array()) {
          const std::string_view text = half.get_string();
          if (count < 2) (count == 0 ? entry.left : entry.right) = text;
          ++count;
        }
        if (count != 2) bad_merge(entry.offset, parts.merges.size(), fmt::format("a list of {}", count));
      }
      parts.merges.push_back(entry);
    }
  }

  [[noreturn]] void bad_merge(std::size_t offset, std::size_t index, std::string_view found) const {
    source_.refuse(ErrorKind::BadCheckpoint, offset,
                   fmt::format("model.merges[{}] is {}, expected \"left right\" or [\"left\", \"right\"]",
                               index, found));
  }

  const JsonSource& source_;
  std::string field_;  // what is being read, for errors that the parser reports
};

TokenizerFile read_padded(simdjson::padded_string_view json, std::string_view name) {
  const JsonSource source{name, std::string_view(json.data(), json.length())};
  ondemand::parser parser;
  ondemand::document document;
  if (const auto code = parser.iterate(json).get(document); code != simdjson::SUCCESS) {
    if (const auto broken = find_invalid_utf8(source.json)) {
      source.refuse(ErrorKind::BadCheckpoint, *broken, fmt::format("byte {} is not UTF-8", *broken));
    }
    source.refuse(ErrorKind::BadCheckpoint, 0,
                  fmt::format("{}, expected a JSON object", simdjson::error_message(code)));
  }
  Reader reader(source);
  try {
    return apply_rules(reader.read(document), source);
  } catch (const simdjson::simdjson_error& error) {
    const char* at = nullptr;
    const bool known = document.current_location().get(at) == simdjson::SUCCESS;
    source.refuse(ErrorKind::BadCheckpoint, known ? reader.offset_of(at) : source.json.size(),
                  fmt::format("{}{}{}", reader.field(), reader.field().empty() ? "" : ": ", error.what()));
  }
}

}  // namespace

void JsonSource::refuse(ErrorKind kind, std::size_t offset, std::string_view message) const {
  const std::string_view before = json.substr(0, std::min(offset, json.size()));
  fail(kind, "{}:{}: {}", name, 1 + std::count(before.begin(), before.end(), '\n'), message);
}

TokenizerFile read_tokenizer_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  ensure(std::filesystem::is_regular_file(file, ignored), ErrorKind::BadInput,
         "{}: no such file; text needs the checkpoint's tokenizer.json", file.string());
  const auto size = std::filesystem::file_size(file, ignored);
  ensure(size <= kLargestFile, ErrorKind::BadCheckpoint,
         "{}: {} bytes, expected a tokenizer.json of at most {}", file.string(), size, kLargestFile);
  simdjson::padded_string bytes;
  const auto code = simdjson::padded_string::load(file.string()).get(bytes);
  ensure(code == simdjson::SUCCESS, ErrorKind::Io, "{}: cannot be read ({})", file.string(),
         simdjson::error_message(code));
  return read_padded(bytes, file.string());
}

TokenizerFile read_tokenizer_json(std::string_view json, std::string_view name) {
  ensure(json.size() <= kLargestFile, ErrorKind::BadCheckpoint, "{}: {} bytes, expected at most {}", name,
         json.size(), kLargestFile);
  const simdjson::padded_string bytes(json);
  return read_padded(bytes, name);
}

}  // namespace redline::text
