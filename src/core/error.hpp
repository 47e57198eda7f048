// The one exception type, and ensure(): say what was found, what was expected and what to do, with no macro.
// Caught in few places (docs/architecture.md, section 10). Not for .cu files: fmt stays out of nvcc.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace redline {

enum class ErrorKind : std::uint8_t {
  BadInput,
  BadCheckpoint,
  Unsupported,
  OutOfMemory,
  DeviceFailure,
  Io,
  Internal
};

std::string_view name_of(ErrorKind kind);
int exit_code_of(ErrorKind kind);  // BadInput 2, BadCheckpoint 3, Unsupported 4, OutOfMemory 5, DeviceFailure
                                   // 6, Io 7, Internal 70

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message,
        std::source_location where = std::source_location::current());
  ErrorKind kind() const { return kind_; }
  const std::source_location& where() const { return where_; }

 private:
  ErrorKind kind_;
  std::source_location where_;
};

// A checked format string that also takes down where it was written.
template <class... Args>
struct FormatHere {
  template <std::convertible_to<std::string_view> Text>
  consteval FormatHere(
      const Text& text,
      std::source_location here = std::source_location::current())  // NOLINT(google-explicit-constructor)
      : format(text), where(here) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, FormatHere<std::type_identity_t<Args>...> message, Args&&... args) {
  throw Error(kind, fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

// A condition that only bad input, a bad file or the like can break.
template <class... Args>
void ensure(bool holds, ErrorKind kind, FormatHere<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!holds) [[unlikely]]
    fail(kind, message, std::forward<Args>(args)...);
}

// A condition that only a mistake in redline can break.
template <class... Args>
void ensure(bool holds, FormatHere<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!holds) [[unlikely]]
    fail(ErrorKind::Internal, message, std::forward<Args>(args)...);
}

}  // namespace redline
