# Every library from outside, in one place. Where each may be included: docs/architecture.md, section 15.
#
#   library     Debian 12                  Ubuntu 24.04
#   compiler    build-essential            build-essential
#   cmake       cmake                      cmake
#   ninja       ninja-build                ninja-build
#   ccache      ccache                     ccache
#   pkg-config  pkg-config                 pkg-config
#   fmt         libfmt-dev                 libfmt-dev
#   spdlog      libspdlog-dev              libspdlog-dev
#   cli11       libcli11-dev               libcli11-dev
#   json        nlohmann-json3-dev         nlohmann-json3-dev
#   simdjson    libsimdjson-dev            libsimdjson-dev
#   pcre2       libpcre2-dev               libpcre2-dev
#   utf8proc    libutf8proc-dev            libutf8proc-dev
#   hwloc       libhwloc-dev               libhwloc-dev
#   boost       libboost1.81-dev           libboost1.83-dev
#   prometheus  prometheus-cpp-dev         prometheus-cpp-dev
#   gtest       libgtest-dev libgmock-dev  libgtest-dev libgmock-dev
#   benchmark   libbenchmark-dev           libbenchmark-dev
# only for python:
#   python      python3-venv               python3-venv
#   roots       ca-certificates            ca-certificates
# only for check:
#   clang       clang-16 clang-tidy-16 clang-format-16     clang-16 clang-tidy-16 clang-format-16
#   fuzzer      libclang-rt-16-dev         libclang-rt-16-dev
#
# scripts/setup installs from this table (columns two spaces apart). A layer names the left column: redline_layer(… WITH fmt simdjson).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)  # Debian builds it as a library against the packaged fmt
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(simdjson REQUIRED)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
find_package(Boost 1.81 REQUIRED)
pkg_check_modules(prometheus REQUIRED IMPORTED_TARGET prometheus-cpp-core)
if(REDLINE_TESTS)
  find_package(GTest REQUIRED)
endif()
if(REDLINE_BENCH)
  find_package(benchmark REQUIRED)
endif()

set(REDLINE_LIBRARY_fmt fmt::fmt)
set(REDLINE_LIBRARY_spdlog spdlog::spdlog)
set(REDLINE_LIBRARY_cli11 CLI11::CLI11)
set(REDLINE_LIBRARY_json nlohmann_json::nlohmann_json)
set(REDLINE_LIBRARY_simdjson simdjson::simdjson)
set(REDLINE_LIBRARY_pcre2 PkgConfig::pcre2)
set(REDLINE_LIBRARY_utf8proc PkgConfig::utf8proc)
set(REDLINE_LIBRARY_hwloc PkgConfig::hwloc)
set(REDLINE_LIBRARY_boost Boost::boost)
set(REDLINE_LIBRARY_prometheus PkgConfig::prometheus)
