//===- Command.h - A subcommand of `ingot` --------------------------------===//
//
// Each subcommand has a file of its own. The file defines the options on a CommandLine of its own
// and returns the action to run once they are parsed. The subcommands do not share one large CLI11
// command for two reasons. First, CLI11 would take a prompt that happens to be "run" for a
// subcommand. Second, only the options of the typed command need to be built.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "tools/options/CommandLine.h"

#include <functional>
#include <span>

namespace ingot::cli {

/// Runs after parsing. Returns the exit code, or an error that main prints.
using Action = std::function<Result<int>()>;

struct Command {
  const char *name;
  const char *summary; ///< one line of `ingot --help`
  Action (*define)(CommandLine &command);
};

/// Returns all subcommands, in the order of `ingot --help`.
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
Action defineList(CommandLine &command);
Action defineRemove(CommandLine &command);
Action defineDoctor(CommandLine &command);
Action defineCompletion(CommandLine &command);

} // namespace ingot::cli
