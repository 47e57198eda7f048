# redline_layer(NAME USES lower layers… WITH outside libraries…): one static library per folder of src/.
# redline_program(…): the same for the folder that holds main().
function(redline_sources name out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  # Candidates are compiled by level (RedlineCandidates.cmake).
  list(FILTER sources EXCLUDE REGEX "src/ops/[^/]+/(cpu|cuda)/[^/]+/[^/]+$")
  list(SORT sources)
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

function(redline_link target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;WITH")
  target_link_libraries(${target} PUBLIC redline_flags Threads::Threads)
  foreach(layer IN LISTS arg_USES)
    target_link_libraries(${target} PUBLIC redline_${layer})
  endforeach()
  foreach(library IN LISTS arg_WITH)
    target_link_libraries(${target} PUBLIC ${REDLINE_LIBRARY_${library}})
  endforeach()
endfunction()

function(redline_layer name)
  redline_sources(${name} sources)
  add_library(redline_${name} STATIC ${sources})
  redline_link(redline_${name} ${ARGN})
endfunction()

# All of the folder but main.cpp is a library, so that tests can call the commands.
function(redline_program name)
  redline_sources(${name} sources)
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/${name}/main.cpp)
  add_library(redline_${name} STATIC ${sources})
  redline_link(redline_${name} ${ARGN})
  add_executable(redline ${PROJECT_SOURCE_DIR}/src/${name}/main.cpp)
  target_link_libraries(redline PRIVATE redline_${name})
endfunction()
