//===- CrashWords.h - Whose code it was that crashed ----------------------===//
//
// Plugins run in the compiler's process: a pass that reads through a null pointer ends both. What is
// under way is noted, so that the signal's handler can say it in three lines, leave the program as it was
// before the passes, and say where in which file of code it was:
//
//     error[E0438]: the pass my-pass of --insert crashed: Segmentation fault
//       it ran on lm.model; --plugin ./mine.so
//       correct the plugin, or leave it out; `ingot-opt --plugin=./mine.so --run-reproducer ingot-crash-812.mlir` crashes
//       alike; `llvm-symbolizer-22 --obj=FILE ADDRESS` tells the line of                       (one line)
//         ./mine.so 0x11f4
//         /usr/lib/llvm-22/lib/libMLIR.so.22.1 0x8d3a41
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::compiler {

/// From here on SIGSEGV, SIGABRT, SIGFPE and SIGILL are told, unless somebody handles them already, with exit 70: E0438
/// while the user's code is suspected, E0492 while ours is; else a crash as such.
void tellCrashes();

/// What a crash leaves as ingot-crash-<process>.mlir, in this folder or that of temporary files: `program`, a module with its
/// pipeline, which `command` (ingot-opt and its plugins) runs.
class Reproducer {
public:
  Reproducer(std::string program, std::string command);
  ~Reproducer(); ///< from here on a crash leaves nothing
  Reproducer(const Reproducer &) = delete;
  Reproducer &operator=(const Reproducer &) = delete;

private:
  const std::string program, command;
};

enum class Whose { Theirs, Ours };

/// The code that runs now ("the pass my-pass of --insert"), with what to look at; empty: none with a name.
void suspect(llvm::StringRef what, llvm::StringRef where = "", Whose whose = Whose::Theirs);

} // namespace ingot::compiler
