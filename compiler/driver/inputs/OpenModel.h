//===- OpenModel.h - Opening the checkpoint of a compilation -----------------===//
#pragma once

#include "compiler/driver/report/Diagnostics.h"
#include "compiler/import/checkpoint/Checkpoint.h"

namespace ingot::compiler {

/// Opens the checkpoint and drops the keys of --ignore-key. Errors: E0417: it is already an engine; E0410: it
/// has no weights, and dummy weights were not requested; all errors of the importer.
Result<std::shared_ptr<import::Checkpoint>> openModel(const CompileOptions &options,
                                                      const Diagnostics &diagnostics);

} // namespace ingot::compiler
