// Fields of config.json and its like, each with its path in every error: "config.json:
// text_config.hidden_size: expected …". The document is read whole into a small tree, so that nothing of the
// JSON library shows here and a field costs a lookup. Documents are tens of kilobytes; the tensor headers,
// which are large, do not pass through here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redline::checkpoint {

// One value of a document, with the path that leads to it. Cheap to copy; keeps its document alive.
class ConfigValue {
 public:
  struct Tree;  // defined in the .cpp

  ConfigValue(std::shared_ptr<const Tree> document, const Tree* value, std::string source, std::string path);

  // Throw BadCheckpoint, naming the value's path, where the value is of another type or outside the limits.
  std::int64_t integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  double number() const;  // finite; integers too
  bool boolean() const;
  std::string_view text() const;
  std::vector<ConfigValue> items() const;                                 // of an array
  std::vector<std::pair<std::string_view, ConfigValue>> members() const;  // of an object, in the file's order

  bool is_object() const;
  bool is_array() const;
  bool is_text() const;
  bool is_boolean() const;

  // A member of an object. A member that is null counts as absent, as the family's files write "no value"
  // both ways.
  std::optional<ConfigValue> find(std::string_view key) const;
  ConfigValue at(std::string_view key) const;  // throws BadCheckpoint: "… is missing"

  const std::string& source() const { return source_; }  // "config.json"
  const std::string& path() const {
    return path_;
  }                           // "text_config.layer_types[3]"; "" for the whole document
  std::string where() const;  // "config.json: text_config.layer_types[3]"
  std::string found() const;  // what the value is, for messages: `the text "abc"`, `an array`

 private:
  ConfigValue child(const Tree* value, std::string_view key) const;

  std::shared_ptr<const Tree> document_;
  const Tree* value_;
  std::string source_;
  std::string path_;
};

// Throws BadCheckpoint where the text is not one JSON object, or names a field twice; Io where the file
// cannot be read.
ConfigValue parse_config(std::string_view json, std::string source);
ConfigValue read_config_file(const std::filesystem::path& file);

}  // namespace redline::checkpoint
