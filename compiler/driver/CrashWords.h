//===- CrashWords.h - Whose code it was that crashed ----------------------===//
//
// Plugins run in the compiler's process: a pass that reads through a null pointer ends both. What is
// under way is noted, so that the signal's handler can say it in three lines.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace ingot::compiler {

/// From here on SIGSEGV, SIGABRT, SIGFPE and SIGILL are told, unless somebody handles them already: E0438 (exit 3)
/// while the user's code is suspected; our own crash as such.
void tellCrashes();

/// The user's code that runs now ("the pass my-pass of --insert"), with what to look at; empty: nobody's.
void suspect(llvm::StringRef what, llvm::StringRef where = "");

} // namespace ingot::compiler
