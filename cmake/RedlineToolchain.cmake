# Compilers and flags that all targets share.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(REDLINE_CCACHE ccache)
if(REDLINE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${REDLINE_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${REDLINE_CCACHE})
endif()

if(REDLINE_CUDA)
  # CMake 3.25 knows no CUDA C++20: nvcc is told directly, and the C++ standard above, which CUDA falls back on, must not be
  # required of it. Each target names its generations.
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  enable_language(CUDA)
  find_package(CUDAToolkit 13.0 REQUIRED)
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")
endif()

add_library(redline_flags INTERFACE)
target_include_directories(redline_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(redline_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror>)
if(REDLINE_SANITIZE)
  target_compile_options(redline_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${REDLINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(redline_flags INTERFACE -fsanitize=${REDLINE_SANITIZE})
endif()
if(REDLINE_FUZZ)
  target_compile_options(redline_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
