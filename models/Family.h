//===- Family.h - Which architectures there are, and how one is imported --===//
//
// A family is one small file in families/: it reads the configuration (a GGUF's metadata or a
// config.json) and says which of the things that decoders are made of it has (Decoder.h). Adding one:
// copy families/Qwen.cpp, add a name to Families.h and a line to the table in Family.cpp, and a tiny
// checkpoint to tests/checkpoints.
//
// Silence is a bug: a key that nobody reads and a tensor that nobody takes refuse
// the import, since either may change what the model computes.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/Checkpoint.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::models {

using ImportedModel = mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>;

class Config;
struct Decoder;

struct Family {
  llvm::StringLiteral name; ///< as lm.model's `family` has it
  /// general.architecture of a GGUF, or of a config.json architectures[0] or, where that is missing, model_type.
  llvm::ArrayRef<llvm::StringLiteral> architectures;
  void (*read)(Config &config, const import::Checkpoint &checkpoint, Decoder &m);
};

llvm::ArrayRef<Family> families();

/// Which of a family's names `architectures` of a config.json has, and which GGUFs. (A model_type may be neither.)
bool isOfConfig(llvm::StringRef architecture);
bool isOfGguf(llvm::StringRef architecture);

/// The family that knows this architecture, or null.
const Family *findFamily(llvm::StringRef architecture);

/// The keys of an imported checkpoint's configuration that change nothing of this model (KnownKeys.h), with their
/// values, for people: "full_attn_mod 1, mlp_bias false". Empty: none.
std::string passedOver(const import::Checkpoint &checkpoint);

/// Builds a module with one verified `lm.model` whose weights refer to the checkpoint's
/// tensors by name. A checkpoint without any tensor (a config.json alone) gives weights of
/// the configuration's dtype, for random weights. Loads the lm dialect. On failure `why`
/// is set, with exit 3: an unknown architecture (E0293), a key (E0294, E0298, E0206,
/// E0207) or a tensor (E0295 to E0297, E0299) that is missing, unused or wrong.
ImportedModel importModel(mlir::MLIRContext &context, const import::Checkpoint &checkpoint,
                          Error &why);

} // namespace ingot::models
