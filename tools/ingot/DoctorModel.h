//===- DoctorModel.h - ingot doctor MODEL: would it compile, and to what? --===//
//
// The model is compiled for this machine with weights made up from a seed, which takes no time and no disk whatever its size
// (docs/command-line.md, "Weights made up"). What is on this machine is opened and imported as `ingot compile` does it, so
// the two agree; a NaN among the weights alone is found when they are packed. Of a model on a hub the small files and the
// headers of its weights are fetched, by ranges, which is as much; of a quantised one, whose numbers say what they are,
// config.json alone is compiled.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/ingot/EngineCache.h"

#include <string>

namespace ingot::cli {

struct DoctorModelOptions {
  std::string model; ///< a checkpoint, or a reference (ModelName.h)
  CompileOptions compile;
  int64_t context = 0; ///< 0: the default of a session
  bool json = false, quiet = false;
};

/// Prints what it would be. Errors: why it would not compile, in the compiler's words (E0417: it is an engine); E0165
/// weights without a header, E0189 the temporary folder cannot be written.
Result<int> doctorModel(const DoctorModelOptions &options);

} // namespace ingot::cli
