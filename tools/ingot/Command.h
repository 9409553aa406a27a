//===- Command.h - What a subcommand of `ingot` is ------------------------===//
//
// One file per subcommand. It defines its options on a CommandLine of its own and gives
// back what to do once they are parsed. Each has its own, not a subcommand of
// one big command: CLI11 would take a prompt that happens to be "run" for a subcommand,
// and only the options of the command that was typed are built.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "tools/options/CommandLine.h"

#include <functional>
#include <span>

namespace ingot::cli {

/// Runs after parsing; the exit code, or an error that main prints.
using Action = std::function<Result<int>()>;

struct Command {
  const char *name;
  const char *summary; ///< one line of `ingot --help`
  Action (*define)(CommandLine &command);
};

/// In the order of `ingot --help`.
std::span<const Command> commands();

Action defineCompile(CommandLine &command);
Action definePasses(CommandLine &command);
Action defineRun(CommandLine &command);
Action defineChat(CommandLine &command);
Action defineServe(CommandLine &command);
Action defineBatch(CommandLine &command);
Action defineScore(CommandLine &command);
Action defineLogits(CommandLine &command);
Action defineTokenize(CommandLine &command);
Action defineInspect(CommandLine &command);
Action defineExplain(CommandLine &command);
Action defineDiff(CommandLine &command);
Action defineVerify(CommandLine &command);
Action defineBench(CommandLine &command);
Action defineSimulate(CommandLine &command);
Action defineBenchKernels(CommandLine &command);
Action defineBenchServe(CommandLine &command);
Action defineTune(CommandLine &command);
Action defineList(CommandLine &command);
Action defineRemove(CommandLine &command);
Action defineDoctor(CommandLine &command);
Action defineCompletion(CommandLine &command);

} // namespace ingot::cli
