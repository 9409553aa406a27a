//===- Command.h - What a subcommand of `ingot` is ------------------------===//
//
// One file per subcommand. It defines its options on a CLI::App of its own and gives
// back what to do once they are parsed. Each has its own App, not a subcommand of
// one big App: CLI11 would take a prompt that happens to be "run" for a subcommand,
// and only the options of the command that was typed are built.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <span>

namespace ingot::cli {

/// Runs after parsing; the exit code, or an error that main prints.
using Action = std::function<Result<int>()>;

struct Command {
  const char *name;
  const char *summary; ///< one line of `ingot --help`
  Action (*define)(CLI::App &app);
};

/// In the order of `ingot --help`.
std::span<const Command> commands();

Action defineCompile(CLI::App &app);
Action definePasses(CLI::App &app);
Action defineRun(CLI::App &app);
Action defineChat(CLI::App &app);
Action defineServe(CLI::App &app);
Action defineBatch(CLI::App &app);
Action defineScore(CLI::App &app);
Action defineLogits(CLI::App &app);
Action defineTokenize(CLI::App &app);
Action defineInspect(CLI::App &app);
Action defineVerify(CLI::App &app);
Action defineBench(CLI::App &app);
Action defineSimulate(CLI::App &app);
Action defineBenchKernels(CLI::App &app);
Action defineBenchServe(CLI::App &app);
Action defineTune(CLI::App &app);
Action defineDoctor(CLI::App &app);
Action defineCompletion(CLI::App &app);

} // namespace ingot::cli
