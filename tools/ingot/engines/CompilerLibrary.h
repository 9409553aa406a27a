//===- CompilerLibrary.h - The compiler library, loaded on demand ----------===//
//
// libingot-compiler.so is in ../lib or in the same folder as this binary. It exports
//
//   extern "C" int ingotCompilerMain(int argc, const char *const *argv)
//
// which takes the whole command line ("ingot", "compile", …) and returns the exit code.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <string>
#include <vector>

namespace ingot::cli {

/// Returns the path of the library. Errors: E0110, with the places searched.
Result<std::string> compilerLibraryPath();

/// Returns the XXH3-128 of the library, in hex. It identifies the compiler of a cached engine.
Result<std::string> compilerFingerprint();

/// Calls the compiler in this process. Errors: E0110; E0111: it cannot be loaded.
Result<int> callCompiler(int argc, const char *const *argv);

/// The code of a code object as text (compiler/driver/ListCode.cpp).
struct CodeListing {
  std::string packed; ///< JSON from a kernel's name to its text, zlib-compressed; empty: no listing
  std::string why;    ///< the reason if there is no listing
};
/// Lists the code of a code object. `kernels` is the kernels' IR, concatenated.
CodeListing listCode(const std::string &target, std::string_view object, const std::string &kernels,
                     bool batchInvariant);

/// Runs `ingot ARGUMENTS…` as a child process, so LLVM's memory is freed before the model is served. The
/// child's stdout goes to stderr, to keep an answer's stdout clean; with `silent`, its stdout and stderr are
/// discarded. SIGINT, SIGTERM and SIGHUP end both processes. Returns the exit code. Errors: E0112, E0113.
Result<int> runAsChild(const std::vector<std::string> &arguments, bool silent = false);

/// Runs `ingot compile` in the same way, but returns the child's error unchanged instead of letting the child
/// print it. Errors: E0133: the child crashed or ran out of memory and could only print its error.
Result<void> compileAsChild(const std::vector<std::string> &arguments);

} // namespace ingot::cli
