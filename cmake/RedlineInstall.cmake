# `cmake --install`: bin/redline and, in lib/, the shared libraries it needs other than glibc, libstdc++, libgcc and CUDA,
# so that a tree built on Debian 12 runs on Ubuntu 24.04. RPATH rather than RUNPATH, so that libraries find each other too.
include(GNUInstallDirs)
set_target_properties(redline PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
target_link_options(redline PRIVATE -Wl,--disable-new-dtags)
install(TARGETS redline RUNTIME_DEPENDENCY_SET redline_needs RUNTIME DESTINATION bin)
install(RUNTIME_DEPENDENCY_SET redline_needs
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s)[.]so" "^libcuda" "^libcublas" "^libnccl" "^libnvidia"
  POST_EXCLUDE_REGEXES "/ld-linux[^/]*$" "/lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s)[.]so[^/]*$"
  LIBRARY DESTINATION lib)
