# Outside libraries of the generator and the tools; the runtime needs none of them.
find_package(LLVM 22.1 CONFIG REQUIRED HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(LLD 22.1 CONFIG HINTS "${LLVM_INSTALL_PREFIX}/lib/cmake/lld")
pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
