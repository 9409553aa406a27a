//===- CompilerIdentity.h - Identity of this build of the compiler --------===//
#pragma once

#include <string>

namespace ingot::compiler {

/// Returns a text with the versions of Ingot and LLVM and the build ids (the linker's content hashes) of the
/// three libraries that generate code: libingot-compiler.so, libMLIR and libLLVM. A different build of any of
/// them gives a different text.
std::string compilerIdentity();

} // namespace ingot::compiler
