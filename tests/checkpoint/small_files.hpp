// Safetensors files made by hand, byte by byte, so that the reader is not tested with its own writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "support/temporary_folder.hpp"

namespace redline::checkpoint::test {

using redline::test::TemporaryFolder;

// Eight bytes of length, the JSON, then 0, 1, 2, … as data.
inline std::string file_of(std::string_view json, std::size_t data_bytes, int first_byte = 0) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xff);
  file += json;
  for (std::size_t i = 0; i < data_bytes; ++i)
    file += static_cast<char>(static_cast<std::size_t>(first_byte) + i);
  return file;
}

struct Row {
  std::string name, dtype, shape;
  std::size_t bytes;
};

// A valid header of these tensors, one after another.
inline std::string json_of(const std::vector<Row>& rows) {
  std::string json = "{";
  std::size_t at = 0;
  for (const Row& row : rows) {
    json += (at > 0 || json.size() > 1 ? ",\"" : "\"") + row.name + R"(":{"dtype":")" + row.dtype +
            R"(","shape":)" + row.shape + R"(,"data_offsets":[)" + std::to_string(at) + "," +
            std::to_string(at + row.bytes) + "]}";
    at += row.bytes;
  }
  return json + "}";
}

inline std::string file_with(const std::vector<Row>& rows, bool with_data = true, int first_byte = 0) {
  std::size_t bytes = 0;
  for (const Row& row : rows) bytes += row.bytes;
  return file_of(json_of(rows), with_data ? bytes : 0, first_byte);
}

inline Row bf16(std::string name) { return {std::move(name), "BF16", "[2,2]", 8}; }

// The kind and the text of what a call throws; "" for nothing.
template <class Call>
std::string error_of(ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind() == kind ? error.what()
                                : "another kind: " + std::string(name_of(error.kind())) + ": " + error.what();
  }
  return {};
}

}  // namespace redline::checkpoint::test
