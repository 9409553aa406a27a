//===- OpenModel.h - The checkpoint that a compilation begins with -----------===//
#pragma once

#include "compiler/driver/Diagnostics.h"
#include "compiler/import/Checkpoint.h"

namespace ingot::compiler {

/// Opens the checkpoint and forgets the keys of --ignore-key. E0417 it is an engine already, E0410 it has no weights
/// and none are made up, and what import says.
Result<std::shared_ptr<import::Checkpoint>> openModel(const CompileOptions &options,
                                                      const Diagnostics &diagnostics);

} // namespace ingot::compiler
