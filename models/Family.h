//===- Family.h - The supported architectures, and their import -----------===//
//
// A family is one small file in families/. It reads the configuration (a GGUF's metadata or a config.json)
// and declares which parts of a decoder it has (Decoder.h). To add a family, copy families/Qwen.cpp, add a name to
// CMakeLists.txt and Families.h, a line to the table in Family.cpp, and a tiny checkpoint to tests/checkpoints.
//
// Nothing is ignored silently: a key that no code reads or a tensor that no code takes causes the import to
// be refused, since either may change what the model computes.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/Checkpoint.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::models {

using ImportedModel = mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>;

class Config;
struct Decoder;

struct Family {
  llvm::StringLiteral name; ///< as in lm.model's `family`
  /// general.architecture of a GGUF; for a config.json architectures[0] or, if that is missing, model_type.
  llvm::ArrayRef<llvm::StringLiteral> architectures;
  void (*read)(Config &config, const import::Checkpoint &checkpoint, Decoder &m);
};

llvm::ArrayRef<Family> families();

/// Returns whether the name is one that `architectures` of a config.json uses (isOfConfig) or one that GGUFs use
/// (isOfGguf). A model_type may be neither.
bool isOfConfig(llvm::StringRef architecture);
bool isOfGguf(llvm::StringRef architecture);

/// Returns the family of this architecture, or null.
const Family *findFamily(llvm::StringRef architecture);

/// Returns the configuration keys of an imported checkpoint that do not affect this model (KnownKeys.h), with their
/// values, for reports: "full_attn_mod 1, mlp_bias false". Empty if there are none.
std::string passedOver(const import::Checkpoint &checkpoint);

/// Builds a module with one verified `lm.model`. Its weights refer to the checkpoint's tensors by name. If the
/// checkpoint has no tensors (a config.json alone), weights have the configuration's dtype; they can then only be dummy
/// weights. Loads the lm dialect. On failure `why` is set, with exit code 3: an unknown architecture (E0293), or a key
/// (E0294, E0298, E0206, E0207) or a tensor (E0295 to E0297, E0299) that is missing, unused or wrong.
ImportedModel importModel(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                          Error &why);

} // namespace ingot::models
