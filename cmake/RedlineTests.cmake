# Test, bench and fuzz targets. tests/ mirrors src/: all of tests/LAYER/ becomes the binary LAYER_test.
#
# Labels: unit (default), golden, cli, slow, gpu. A file named *_slow_test.cpp makes the extra binary LAYER_slow_test.
include(CTest)
if(REDLINE_TESTS)
  include(GoogleTest)
  find_package(Python3 COMPONENTS Interpreter)  # scripts/test installs it; scripts/quickstart builds no test and does without

  add_library(redline_test_support STATIC)
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
  target_sources(redline_test_support PRIVATE ${support})
  target_include_directories(redline_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(redline_test_support PUBLIC
    REDLINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" REDLINE_REAL_DATA="${REDLINE_REAL_DATA}"
    REDLINE_BUILD_DIR="${PROJECT_BINARY_DIR}" REDLINE_TEST_PYTHON="${PROJECT_SOURCE_DIR}/build/venv/bin/python")
  target_link_libraries(redline_test_support PUBLIC redline_core GTest::gtest GTest::gmock)

  # redline_test(NAME LABELS … USES layers… FILES …)
  function(redline_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;USES;FILES")
    add_executable(${name} ${arg_FILES})
    target_link_libraries(${name} PRIVATE redline_test_support GTest::gtest_main)
    foreach(layer IN LISTS arg_USES)
      target_link_libraries(${name} PRIVATE redline_${layer})
    endforeach()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 600)
  endfunction()

  foreach(layer core quant text checkpoint device ops model runtime chat cli)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${layer}/*_test.cpp)
    if(files)
      redline_test(${layer}_test LABELS unit USES ${layer} FILES ${files})
    endif()
  endforeach()

  if(Python3_FOUND)
    add_test(NAME layers COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_layers.py ${PROJECT_SOURCE_DIR})
    add_test(NAME layers_selftest COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_layers.py --selftest)
    set_tests_properties(layers layers_selftest PROPERTIES LABELS unit)
  endif()

  # tests/**/NAME_tool.cpp: a program bin/NAME_tool for the Python tests, beside $REDLINE_PROGRAM.
  file(GLOB_RECURSE tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_tool.cpp)
  foreach(file IN LISTS tools)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE redline_core redline_quant redline_text redline_checkpoint redline_model redline_cli)
  endforeach()

  # Python tests: tests/**/NAME_test.py, run in the venv that scripts/setup makes, with the program's path as argument.
  file(GLOB_RECURSE python_tests CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*_test.py)
  foreach(file IN LISTS python_tests)
    string(REGEX REPLACE "[.]py$" "" name ${file})
    string(REPLACE "/" "." name ${name})
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/build/venv/bin/python ${PROJECT_SOURCE_DIR}/tests/${file})
    set_tests_properties(${name} PROPERTIES LABELS "golden" SKIP_RETURN_CODE 77 TIMEOUT 1200 ENVIRONMENT
      "REDLINE_PROGRAM=$<TARGET_FILE:redline>;REDLINE_SOURCE_DIR=${PROJECT_SOURCE_DIR};REDLINE_REAL_DATA=${REDLINE_REAL_DATA}")
  endforeach()
endif()

# tests/fuzz/X_fuzz.cpp defines LLVMFuzzerTestOneInput. With REDLINE_FUZZ it is linked with libFuzzer; else with a plain
# main that replays tests/fuzz/corpus/X/, which is a test.
if(REDLINE_TESTS OR REDLINE_FUZZ)
  file(GLOB fuzz_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
  foreach(file IN LISTS fuzz_files)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" target ${name})
    if(REDLINE_FUZZ)
      add_executable(${name} ${file})
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      add_executable(${name} ${file} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
      add_test(NAME fuzz_replay.${target} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target})
      set_tests_properties(fuzz_replay.${target} PROPERTIES LABELS unit)
    endif()
    target_link_libraries(${name} PRIVATE redline_core redline_quant redline_text redline_checkpoint redline_model)
  endforeach()
endif()

# CUDA tests: tests/**/NAME_gpu_test.cu, each a program of its own; they run where there is a GPU (ctest -L gpu).
if(REDLINE_TESTS AND REDLINE_CUDA)
  add_custom_target(cuda_objects)  # all device code, compiled and not linked
  file(GLOB_RECURSE gpu_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_gpu_test.cu)
  foreach(file IN LISTS gpu_files)
    get_filename_component(name ${file} NAME_WE)
    add_library(${name}_object OBJECT ${file})
    set_target_properties(${name}_object PROPERTIES CUDA_ARCHITECTURES "${REDLINE_CUDA_ANY}")
    target_include_directories(${name}_object PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    add_dependencies(cuda_objects ${name}_object)
    add_executable(${name} $<TARGET_OBJECTS:${name}_object>)
    target_link_libraries(${name} PRIVATE CUDA::cudart_static)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77)
  endforeach()
endif()

# bench/NAME_bench.cpp: Google Benchmark programs, run by hand.
if(REDLINE_BENCH)
  file(GLOB bench_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cpp)
  foreach(file IN LISTS bench_files)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE benchmark::benchmark redline_core redline_quant redline_text redline_checkpoint redline_model)
  endforeach()
endif()
