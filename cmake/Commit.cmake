# Run at each build: writes the source that says version and commit, and touches it only when something changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
else()
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit "+changes")
  endif()
endif()
file(WRITE ${OUTPUT}.new "// Written by cmake/Commit.cmake.
#include \"core/version.hpp\"

namespace redline {

const char* const kVersion = \"${VERSION}\";
const char* const kCommit = \"${commit}\";

}  // namespace redline
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
