// What config.json (`quantization_config`: fp8, modelopt, compressed-tensors) or hf_quant_config.json
// declares for each module. Only a cross-check: formats are decided from the tensors (tensor_scheme.hpp), and
// where the two differ the tensors win and a line says so. The rules of each method are in docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checkpoint/config_reader.hpp"
#include "checkpoint/name_pattern.hpp"
#include "quant/scheme.hpp"

namespace redline::checkpoint {

class QuantizationConfig {
 public:
  // Throws BadCheckpoint where a field is of another type than its method gives it. A method or an algorithm
  // that is not known is no error: it becomes a line in notes(), and nothing is declared.
  static QuantizationConfig read(const ConfigValue& config,
                                 const std::optional<ConfigValue>& hf_quant_config);

  // The format declared for the weight of a linear module, given its internal name without ".weight". BF16
  // where the module is declared not to be quantised; nullopt where the config says nothing.
  std::optional<quant::Format> declared(std::string_view internal_module) const;

  bool declares_fp8_kv() const { return !kv_source_.empty(); }
  const std::string& kv_source() const {
    return kv_source_;
  }  // "config.json", "hf_quant_config.json"; "": nobody declares FP8
  const std::string& source() const { return source_; }  // whose module lists are used; "": there are none
  const std::string& method() const { return method_; }  // "fp8", "modelopt", "compressed-tensors"; "": none
  const std::string& algorithm() const {
    return algorithm_;
  }  // ModelOpt's quant_algo: "NVFP4", "MIXED_PRECISION"
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t ignored_entries() const { return ignored_entries_; }

 private:
  using Format = std::optional<quant::Format>;  // nullopt: declared, but as something that is not known
  struct Rule {
    std::vector<NamePattern> names{};  // wildcards and regular expressions; plain names are in targets_
    bool every_linear = false;
    Format format{};
  };

  void read_fp8(const ConfigValue& object);
  void read_modelopt(const ConfigValue& object);
  void read_compressed_tensors(const ConfigValue& object);
  void read_group(const ConfigValue& group, Format format);
  void read_kv(const ConfigValue& object);
  void ignore(const ConfigValue& list);
  void add_name(Rule& rule, const ConfigValue& name);
  Format weights_format(const ConfigValue& weights);
  Format format_of_algorithm(const ConfigValue& algorithm);
  bool ignored(const std::vector<std::string>& spellings) const;

  std::string source_, method_, algorithm_, kv_source_;
  bool ignore_reaches_inside_ =
      false;  // an entry also covers the modules below it, and names that end with it
  std::unordered_set<std::string> ignored_names_;
  std::vector<NamePattern> ignored_patterns_;
  std::size_t ignored_entries_ = 0;
  std::unordered_map<std::string, Format> targets_;
  std::vector<Rule> rules_;
  std::vector<std::string> notes_;
};

}  // namespace redline::checkpoint
