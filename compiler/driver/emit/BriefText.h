//===- BriefText.h - IR shortened for reading -----------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::compiler {

/// Implements `--brief`: shortens runs of similar declarations (weights, steps, KV slots) to the first ones
/// and a count of the rest, and cuts long lines. The result is for reading; the parser does not accept it.
std::string briefly(llvm::StringRef ir);

} // namespace ingot::compiler
