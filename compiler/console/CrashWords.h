//===- CrashWords.h - Whose code it was that crashed ----------------------===//
//
// Plugins run in the compiler's process: a pass that reads through a null pointer ends both. What is
// under way is noted, by each thread for itself, so that the signal's handler can say it in three lines, leave the
// program as it was before, and say where in which file of code it was:
//
//     error[E0438]: the pass my-pass of --insert crashed: Segmentation fault
//       it ran on lm.model, at lm.linear in @dense; --plugin ./mine.so
//       correct the plugin, or leave it out; `ingot-opt --plugin=./mine.so --run-reproducer ingot-crash-812.mlir` crashes
//       alike; `llvm-symbolizer-22 --obj=FILE ADDRESS` tells the line of                       (one line)
//         ./mine.so 0x11f4
//         /usr/lib/llvm-22/lib/libMLIR.so.22.1 0x8d3a41
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ingot::compiler {

/// From here on SIGSEGV, SIGABRT, SIGFPE and SIGILL are told, unless somebody handles them already, with exit 70: E0438
/// while the user's code is suspected, E0492 while ours is; else a crash as such.
void tellCrashes();

/// What a crash leaves as ingot-crash-<process>.mlir, in this folder or that of temporary files. Its text costs nothing
/// until then: a copy of this process, made here, waits and prints it if it is asked to. Where the system makes no copy,
/// a crash leaves nothing. One at a time.
class Reproducer {
public:
  /// `command` runs the file, whose place is where it says PLACE.
  Reproducer(const std::function<std::string()> &print, std::string command);
  ~Reproducer(); ///< from here on a crash leaves nothing
  Reproducer(const Reproducer &) = delete;
  Reproducer &operator=(const Reproducer &) = delete;

private:
  const std::string command;
  int child = -1, ask = -1, answer = -1;
};

enum class Whose { Theirs, Ours };

/// The code that this thread runs now ("the pass my-pass of --insert"), with what to look at; empty: none with a name.
void suspect(std::string_view what, std::string_view where = "", Whose whose = Whose::Theirs);

/// Where in what it works on the suspect is ("lm.linear", "dense"); both outlive it. Cheap: they are not copied.
void suspectAt(std::string_view op, std::string_view symbol);

} // namespace ingot::compiler
