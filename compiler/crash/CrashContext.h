//===- CrashContext.h - Crash context and crash reports -------------------===//
//
// Plugins run in the compiler's process, so a pass that reads through a null pointer also ends the compiler. Each
// thread records what it is doing. After a crash, the signal handler can report this in three lines, leave a
// reproducer with the program as it was before the pass, and list the code addresses:
//
//     error[E0438]: the pass my-pass of --insert crashed: Segmentation fault
//       it ran on lm.model, at lm.linear in @dense; --plugin ./mine.so
//       correct the plugin, or omit it; `ingot-opt --plugin=./mine.so --run-reproducer ingot-crash-812.mlir` crashes
//       alike; `llvm-symbolizer-22 --obj=FILE ADDRESS` prints the line of                      (one line)
//         ./mine.so 0x11f4
//         /usr/lib/llvm-22/lib/libMLIR.so.22.1 0x8d3a41
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ingot::compiler {

/// Installs the crash handler. From this call on, SIGSEGV, SIGABRT, SIGFPE and SIGILL are reported with exit code 70,
/// unless they already have a handler. The error is E0438 if the suspect is the user's code, and E0492 if it is ours.
/// Without a suspect, the process crashes as usual.
void installCrashHandler();

/// The reproducer that a crash leaves as ingot-crash-<process>.mlir, in the current folder or the folder of temporary
/// files. The constructor forks this process, and the copy waits and prints the reproducer only when a crash requests
/// it. If the fork fails, a crash leaves no reproducer. Only one object may exist at a time.
class Reproducer {
public:
  /// `command` runs the file; PLACE in it stands for the file's path.
  Reproducer(const std::function<std::string()> &print, std::string command);
  ~Reproducer(); ///< after this, a crash leaves nothing
  Reproducer(const Reproducer &) = delete;
  Reproducer &operator=(const Reproducer &) = delete;

private:
  const std::string command;
  int child = -1, ask = -1, answer = -1;
};

enum class Whose { Theirs, Ours };

/// Sets the code that this thread runs now ("the pass my-pass of --insert") and its place, for a crash
/// report. An empty `what` clears it.
void suspect(std::string_view what, std::string_view where = "", Whose whose = Whose::Theirs);

/// Sets the op and the symbol that the suspect works on ("lm.linear", "dense"). The call is cheap because the
/// texts are not copied; both must outlive the suspect.
void suspectAt(std::string_view op, std::string_view symbol);

} // namespace ingot::compiler
