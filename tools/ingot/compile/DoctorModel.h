//===- DoctorModel.h - ingot doctor MODEL: a trial compilation -------------===//
//
// The model is compiled for this machine with dummy weights generated from a seed, which takes little time
// and disk whatever the model's size (docs/command-line.md, "Dummy weights"). A local model is opened and
// imported as in `ingot compile`, so both give the same result; the only exception is a NaN among the weights,
// which is found only when they are packed. For a model on a hub, the small files and the headers of the weights
// are fetched (by range requests), which is enough for the same result. The import of a quantised model depends
// on values in the tensors, so for such a model on a hub only config.json is compiled.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/ingot/engines/EngineCache.h"

#include <string>

namespace ingot::cli {

struct DoctorModelOptions {
  std::string model; ///< a checkpoint, or a reference (ModelName.h)
  CompileOptions compile;
  int64_t context = 0; ///< 0: the default of a session
  bool json = false, quiet = false;
};

/// Prints what the engine would be. Errors: the compiler's, if the model would not compile (E0417: it is an
/// engine); E0165: weights without a header; E0189: the temporary folder cannot be written.
Result<int> doctorModel(const DoctorModelOptions &options);

} // namespace ingot::cli
