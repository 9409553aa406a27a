//===- PhaseOptions.h - Where a compilation begins and ends -----------------===//
//
//   --from PHASE=FILE    the IR of a phase instead of what the checkpoint would give; weights and text stay the
//                        checkpoint's
//   --to PHASE           prints the IR behind a phase, as --from takes it up
//   --emit STAGE         prints something of the compilation: that IR, or what else there is to read
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"

namespace ingot::compiler {

/// The options as typed.
struct PhaseWords {
  std::string from, to, emit;
};

/// Behind the choice of targets. E0464 nothing of that kind would be printed, E0481 --from has no phase or no file,
/// E0482 the compilation would end before it begins.
Result<void> choosePhases(const PhaseWords &words, CompileOptions &options);

} // namespace ingot::compiler
