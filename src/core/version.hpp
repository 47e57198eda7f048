// Which redline this is.
#pragma once

namespace redline {

extern const char* const kVersion;  // "0.1.0"
extern const char* const
    kCommit;  // "3f2c1ab", "3f2c1ab+changes", "unknown" where it was not built from a repository

}  // namespace redline
