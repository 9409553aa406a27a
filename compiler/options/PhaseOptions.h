//===- PhaseOptions.h - First and last phase of a compilation ---------------===//
//
//   --from PHASE=FILE    reads the IR of a phase instead of producing it; weights and text still come from the
//                        checkpoint
//   --to PHASE           prints the IR after a phase, in the form that --from reads
//   --emit STAGE         prints an output of the compilation: that IR, or another readable stage
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/options/Options.h"

namespace ingot::compiler {

/// The options as typed.
struct PhaseWords {
  std::string from, to, emit;
};

/// Sets the phases. It must be called after the targets are chosen. Errors: E0464: there is nothing of that kind
/// to print; E0481: --from has no phase or no file; E0482: the compilation would end before it begins.
Result<void> choosePhases(const PhaseWords &words, CompileOptions &options);

/// Returns "lm", "fused", "kernel" or "plan".
const char *phaseName(Phase phase);

} // namespace ingot::compiler
