//===- DoctorModel.h - ingot doctor MODEL: would it compile, and to what? --===//
//
// The model is compiled for this machine as a shape: with weights made up from a seed, which takes no time
// and no disk whatever its size (docs/command-line.md, "Weights made up"). Of weights the headers alone are read, of a
// model on a hub by ranges: nothing large is fetched. So what stands in the weights themselves (a NaN, a scale out of
// range) and tensors that nobody uses are found by `ingot compile` alone.
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
/// weights without a header.
Result<int> doctorModel(const DoctorModelOptions &options);

} // namespace ingot::cli
