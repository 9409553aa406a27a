//===- BriefText.h - IR for people who want the model, not its weights ----===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::compiler {

/// `--brief`: of many lines in a row that declare the same (weights, steps, KV slots) the first ones and how many more
/// there are, and long lines cut. For reading; the parser does not take it.
std::string briefly(llvm::StringRef ir);

} // namespace ingot::compiler
