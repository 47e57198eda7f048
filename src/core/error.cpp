// Names and exit codes of error kinds. Messages quote files: their control characters are escaped here, once
// for all.
#include "core/error.hpp"

#include "core/printable.hpp"

namespace redline {

Error::Error(ErrorKind kind, const std::string& message, std::source_location where)
    : std::runtime_error(without_controls(message)), kind_(kind), where_(where) {}

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BadInput:
      return "bad input";
    case ErrorKind::BadCheckpoint:
      return "bad checkpoint";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::OutOfMemory:
      return "out of memory";
    case ErrorKind::DeviceFailure:
      return "device failure";
    case ErrorKind::Io:
      return "input/output";
    case ErrorKind::Internal:
      return "internal error";
  }
  return "?";
}

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BadInput:
      return 2;
    case ErrorKind::BadCheckpoint:
      return 3;
    case ErrorKind::Unsupported:
      return 4;
    case ErrorKind::OutOfMemory:
      return 5;
    case ErrorKind::DeviceFailure:
      return 6;
    case ErrorKind::Io:
      return 7;
    case ErrorKind::Internal:
      return 70;
  }
  return 70;
}

}  // namespace redline
