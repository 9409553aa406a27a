//===- Families.h - The importers that Family.cpp lists -------------------===//
#pragma once

#include "models/Family.h"

namespace ingot::models {

ImportedModel importLlama(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                          Error &why);
ImportedModel importGptNeox(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                            Error &why);
ImportedModel importLfm2(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                         Error &why);
ImportedModel importGemma3(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                           Error &why);

} // namespace ingot::models
