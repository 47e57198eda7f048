// Builds the tree with simdjson and hands out its values.
#include "checkpoint/config_reader.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <unordered_set>
#include <variant>

#include "core/error.hpp"

namespace redline::checkpoint {

struct ConfigValue::Tree {
  using Array = std::vector<Tree>;
  using Object = std::vector<std::pair<std::string, Tree>>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value;
};

namespace {

using Tree = ConfigValue::Tree;

// Published files hold at most a few hundred kilobytes; a limit keeps a wrong file from being read as one.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// For an element whose type has been looked at: cannot fail.
template <class T>
T as(simdjson::dom::element element) {
  T value{};
  ensure(element.get(value) == simdjson::SUCCESS, "a JSON element is not what it says it is");
  return value;
}

Tree tree_of(simdjson::dom::element element, const std::string& source, const std::string& path) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::BOOL:
      return {as<bool>(element)};
    case element_type::INT64:
      return {as<std::int64_t>(element)};
    case element_type::UINT64:
      return {static_cast<double>(as<std::uint64_t>(element))};
    case element_type::DOUBLE:
      return {as<double>(element)};
    case element_type::STRING:
      return {std::string(as<std::string_view>(element))};
    case element_type::ARRAY: {
      Tree::Array items;
      for (simdjson::dom::element item : as<simdjson::dom::array>(element)) {
        items.push_back(tree_of(item, source, fmt::format("{}[{}]", path, items.size())));
      }
      return {std::move(items)};
    }
    case element_type::OBJECT: {
      Tree::Object members;
      std::unordered_set<std::string_view> names;
      for (const simdjson::dom::key_value_pair member : as<simdjson::dom::object>(element)) {
        const std::string name = joined(path, member.key);
        ensure(names.insert(member.key).second, ErrorKind::BadCheckpoint,
               "{}: {}: the field stands there twice", source, name);
        members.emplace_back(std::string(member.key), tree_of(member.value, source, name));
      }
      return {std::move(members)};
    }
    default:
      return {};
  }
}

}  // namespace

ConfigValue::ConfigValue(std::shared_ptr<const Tree> document, const Tree* value, std::string source,
                         std::string path)
    : document_(std::move(document)), value_(value), source_(std::move(source)), path_(std::move(path)) {}

std::string ConfigValue::where() const {
  return path_.empty() ? source_ : fmt::format("{}: {}", source_, path_);
}

std::string ConfigValue::found() const {
  struct Describe {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const {
      return value.size() <= 60 ? fmt::format("\"{}\"", value) : fmt::format("\"{}…\"", value.substr(0, 60));
    }
    std::string operator()(const Tree::Array& value) const {
      return fmt::format("an array of {}", value.size());
    }
    std::string operator()(const Tree::Object& value) const {
      return fmt::format("an object of {} fields", value.size());
    }
  };
  return std::visit(Describe{}, value_->value);
}

std::int64_t ConfigValue::integer(std::int64_t least, std::int64_t most) const {
  std::optional<std::int64_t> value;
  if (const auto* whole = std::get_if<std::int64_t>(&value_->value)) value = *whole;
  // Some exporters write 4.0 for 4; 2^53 is where doubles stop naming every integer.
  if (const auto* real = std::get_if<double>(&value_->value)) {
    if (std::abs(*real) <= 9007199254740992.0 && *real == std::floor(*real))
      value = static_cast<std::int64_t>(*real);
  }
  const bool bounded =
      least != std::numeric_limits<std::int64_t>::min() || most != std::numeric_limits<std::int64_t>::max();
  if (!value.has_value() || *value < least || *value > most) {
    if (bounded) {
      fail(ErrorKind::BadCheckpoint, "{}: expected an integer from {} to {}, found {}", where(), least, most,
           found());
    }
    fail(ErrorKind::BadCheckpoint, "{}: expected an integer, found {}", where(), found());
  }
  return *value;
}

double ConfigValue::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_->value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value_->value);
  ensure(real != nullptr && std::isfinite(*real), ErrorKind::BadCheckpoint, "{}: expected a number, found {}",
         where(), found());
  return *real;
}

bool ConfigValue::boolean() const {
  const auto* value = std::get_if<bool>(&value_->value);
  ensure(value != nullptr, ErrorKind::BadCheckpoint, "{}: expected true or false, found {}", where(),
         found());
  return *value;
}

std::string_view ConfigValue::text() const {
  const auto* value = std::get_if<std::string>(&value_->value);
  ensure(value != nullptr, ErrorKind::BadCheckpoint, "{}: expected a text, found {}", where(), found());
  return *value;
}

std::vector<ConfigValue> ConfigValue::items() const {
  const auto* array = std::get_if<Tree::Array>(&value_->value);
  ensure(array != nullptr, ErrorKind::BadCheckpoint, "{}: expected an array, found {}", where(), found());
  std::vector<ConfigValue> values;
  values.reserve(array->size());
  for (const Tree& item : *array) {
    values.emplace_back(document_, &item, source_, fmt::format("{}[{}]", path_, values.size()));
  }
  return values;
}

std::vector<std::pair<std::string_view, ConfigValue>> ConfigValue::members() const {
  const auto* object = std::get_if<Tree::Object>(&value_->value);
  ensure(object != nullptr, ErrorKind::BadCheckpoint, "{}: expected an object, found {}", where(), found());
  std::vector<std::pair<std::string_view, ConfigValue>> values;
  values.reserve(object->size());
  for (const auto& [key, value] : *object) values.emplace_back(key, child(&value, key));
  return values;
}

bool ConfigValue::is_object() const { return std::holds_alternative<Tree::Object>(value_->value); }
bool ConfigValue::is_array() const { return std::holds_alternative<Tree::Array>(value_->value); }
bool ConfigValue::is_text() const { return std::holds_alternative<std::string>(value_->value); }
bool ConfigValue::is_boolean() const { return std::holds_alternative<bool>(value_->value); }

ConfigValue ConfigValue::child(const Tree* value, std::string_view key) const {
  return {document_, value, source_, joined(path_, key)};
}

std::optional<ConfigValue> ConfigValue::find(std::string_view key) const {
  const auto* object = std::get_if<Tree::Object>(&value_->value);
  ensure(object != nullptr, ErrorKind::BadCheckpoint, "{}: expected an object, found {}", where(), found());
  for (const auto& [name, value] : *object) {
    if (name != key) continue;
    if (std::holds_alternative<std::monostate>(value.value)) return std::nullopt;
    return child(&value, key);
  }
  return std::nullopt;
}

ConfigValue ConfigValue::at(std::string_view key) const {
  std::optional<ConfigValue> value = find(key);
  ensure(value.has_value(), ErrorKind::BadCheckpoint, "{}: {} is missing", source_, joined(path_, key));
  return *std::move(value);
}

ConfigValue parse_config(std::string_view json, std::string source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  // A depth of 64 is far beyond any config, and keeps the recursion above small.
  const simdjson::error_code allocated = parser.allocate(std::max<std::size_t>(json.size(), 64), 64);
  ensure(allocated == simdjson::SUCCESS, ErrorKind::OutOfMemory, "{}: no memory to parse {} bytes", source,
         json.size());
  const simdjson::error_code error = parser.parse(json.data(), json.size()).get(root);
  ensure(error == simdjson::SUCCESS, ErrorKind::BadCheckpoint, "{}: not valid JSON: {}", source,
         simdjson::error_message(error));
  ensure(root.is_object(), ErrorKind::BadCheckpoint, "{}: expected a JSON object", source);
  auto tree = std::make_shared<const Tree>(tree_of(root, source, ""));
  const Tree* value = tree.get();
  return {std::move(tree), value, std::move(source), ""};
}

ConfigValue read_config_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  ensure(!error, ErrorKind::Io, "{}: cannot be read: {}", file.string(), error.message());
  ensure(size <= kMostBytes, ErrorKind::BadCheckpoint, "{}: {} bytes, expected a config of at most {}",
         file.string(), size, kMostBytes);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  ensure(stream.gcount() == static_cast<std::streamsize>(size), ErrorKind::Io, "{}: read {} of {} bytes",
         file.string(), stream.gcount(), size);
  return parse_config(text, file.filename().string());
}

}  // namespace redline::checkpoint
