//===- Passes.h - Passes and pipelines of the compiler --------------------===//
#pragma once

#include "passes/PassOptions.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace ingot {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// Options of the main pipeline.
struct PipelineOptions {
  Precision precision = kDefaultPrecision;
  KvFormat kv = kDefaultKv;          ///< format of the KV caches for which the model gives none
  std::string quantize;              ///< numeric format to which floating-point matrices are
                                     ///< quantised; empty: as stored
  std::vector<std::string> recipe;   ///< "GLOB:FORMAT" over weight symbols; takes precedence over
                                     ///< `quantize`
  std::vector<std::string> disabled; ///< arguments of optional passes to skip ("lm-fuse-gate-up")
  DeviceKind device = kDefaultDevice;
  bool fp8Rows =
      false; ///< projections with fp8 weights may multiply in fp8 where the target has kernels for
             ///< it
  std::vector<std::string> kvLayers =
      {}; ///< "FIRST-LAST:FORMAT": layers whose KV cache format differs from `kv`
};

/// Arguments of the passes that may be disabled. These passes only save launches and memory traffic.
llvm::ArrayRef<llvm::StringLiteral> optionalPasses();

/// Add the passes of one phase each, in the order of the phases. User passes run between phases.
void buildImportPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
void buildFusionPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
void buildLoweringPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);
void buildPlanningPipeline(mlir::OpPassManager &pm, const PipelineOptions &options);

void registerDialects(mlir::DialectRegistry &registry);
/// Registers the passes and the pipelines `ingot-fuse` and `ingot-lower`.
void registerPassesAndPipelines();

} // namespace ingot
