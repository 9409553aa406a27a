//===- CompilerLibrary.h - The compiler, opened when it is needed ----------===//
//
// libingot-compiler.so lies beside this binary (../lib, or the same folder) and exports
//
//   extern "C" int ingotCompilerMain(int argc, const char *const *argv)
//
// which takes the whole command line ("ingot", "compile", …) and gives the exit code.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// Where the library is; E0110 with the places looked at.
Result<std::string> compilerLibraryPath();

/// XXH3-128 of the library, in hex: which compiler made an engine in the cache.
Result<std::string> compilerFingerprint();

/// Calls the compiler in this process. E0110, or E0111 if it cannot be loaded.
Result<int> callCompiler(int argc, const char *const *argv);

/// The code of a code object as text (compiler/driver/ListCode.cpp).
struct CodeListing {
  std::string
      packed; ///< JSON from a kernel's name to its text, compressed as zlib does; empty: there is none
  std::string why; ///< there is none
};
/// `kernels`: their IR, one behind the other.
CodeListing listCode(const std::string &target, std::string_view object, const std::string &kernels,
                     bool batchInvariant);

/// Runs `ingot ARGUMENTS…` as a child, so that LLVM's memory is gone before the model is
/// served. Its stdout goes to stderr, which keeps an answer's stdout clean, or, with
/// `silent`, nowhere, and its stderr too. SIGINT, SIGTERM and SIGHUP end both. The exit code;
/// E0112, E0113.
Result<int> runAsChild(const std::vector<std::string> &arguments, bool silent = false);

/// The same for `ingot compile`, whose error comes back as it is instead of being printed there.
/// E0133 for one that could not hand it over: it crashed, or had no memory left, and printed that.
Result<void> compileAsChild(const std::vector<std::string> &arguments);

} // namespace ingot::cli
