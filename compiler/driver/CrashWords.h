//===- CrashWords.h - Whose code it was that crashed ----------------------===//
//
// Plugins run in the compiler's process: a pass that reads through a null pointer ends both. What is
// under way is noted, so that the signal's handler can say it in three lines, and where in which file
// of code it was:
//
//     error[E0438]: the pass my-pass of --insert crashed: Segmentation fault
//       it ran on lm.model; --plugin ./mine.so
//       correct the plugin, or leave it out; `llvm-symbolizer-22 --obj=FILE ADDRESS` tells the line of
//         ./mine.so 0x11f4
//         /usr/lib/llvm-22/lib/libMLIR.so.22.1 0x8d3a41
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

namespace ingot::compiler {

/// From here on SIGSEGV, SIGABRT, SIGFPE and SIGILL are told, unless somebody handles them already: E0438 (exit 3)
/// while the user's code is suspected, E0492 (exit 70) while ours is; else a crash as such.
void tellCrashes();

enum class Whose { Theirs, Ours };

/// The code that runs now ("the pass my-pass of --insert"), with what to look at; empty: none with a name.
void suspect(llvm::StringRef what, llvm::StringRef where = "", Whose whose = Whose::Theirs);

} // namespace ingot::compiler
