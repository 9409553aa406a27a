//===- CompilerIdentity.h - Which build of the compiler this is -----------===//
#pragma once

#include <string>

namespace ingot::compiler {

/// The versions of Ingot and LLVM and the build ids (hashes that the linker made of the contents) of the three
/// libraries that generate code: libingot-compiler.so, libMLIR and libLLVM. Another build of any of them is another text.
std::string compilerIdentity();

} // namespace ingot::compiler
