# core/version.hpp's two constants, looked up at each build, so that a measured run names the commit it was built from.
set(REDLINE_VERSION_SOURCE ${PROJECT_BINARY_DIR}/generated/version.cpp)
add_custom_target(redline_commit BYPRODUCTS ${REDLINE_VERSION_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DOUTPUT=${REDLINE_VERSION_SOURCE}
          -P ${CMAKE_CURRENT_LIST_DIR}/Commit.cmake
  COMMENT "" VERBATIM)
set_source_files_properties(${REDLINE_VERSION_SOURCE} PROPERTIES GENERATED TRUE)
target_sources(redline_core PRIVATE ${REDLINE_VERSION_SOURCE})
add_dependencies(redline_core redline_commit)
