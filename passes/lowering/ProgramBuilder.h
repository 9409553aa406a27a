//===- ProgramBuilder.h - The program under construction ------------------===//
#pragma once

#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "passes/Passes.h"
#include "passes/lowering/RowEncodings.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::lm {
class EntryOp;
class LayerKindOp;
class LayersOp;
class ModelOp;
class RopeOp;
class StateOp;
} // namespace ingot::lm

namespace ingot::plan {
class SectionOp;
}

namespace ingot {

constexpr llvm::StringLiteral kBeginSection = "begin", kEndSection = "end";

struct LoweringChoices {
  bool exact;
  KvFormat kv;            ///< of states that do not specify a format
  llvm::StringRef device; ///< name of the target
};

/// How kernels use a state of a layer kind.
struct StateUse {
  mlir::Type memory; ///< the memory type that kernels see; null: no kernel uses it
  int64_t window = 0;
};

/// An operand of a launch: the type in the kernel, and the argument that the plan passes.
struct LaunchOperand {
  mlir::Type type;
  mlir::Attribute ref;
};

/// The program under construction: kernels (shared where they are the same), buffers, sections.
class ProgramBuilder {
public:
  /// Buffers get names that do not occur in `model`: weights, states and sections of layer kinds keep their
  /// names, and a program has one symbol table.
  ProgramBuilder(plan::ProgramOp program, lm::ModelOp model, LoweringChoices choices);

  /// Adds a buffer for each value carried from layer to layer. The sections before and after the layers, and
  /// every layer kind, read it there and write it there.
  void addCarried(lm::LayersOp layers);
  /// A buffer of cos and sin for each frequency vector that layers rotate with.
  mlir::LogicalResult addTables(lm::LayersOp layers);
  mlir::LogicalResult lowerBegin(lm::EntryOp entry, lm::LayersOp layers);
  mlir::LogicalResult lowerKind(lm::LayerKindOp kind);
  mlir::LogicalResult lowerEnd(lm::EntryOp entry, lm::LayersOp layers);
  /// Adds the plan.state for an argument of a layer kind, which must already be lowered.
  mlir::LogicalResult addState(lm::StateOp state, mlir::Value argument);
  /// Adds the outputs of a step. Call it after lowerEnd().
  void addOutputs(plan::EntryOp entry) const;

private:
  friend class SectionLowering;

  struct Table {
    LaunchOperand frequencies;
    float factor;
    LaunchOperand rows;
  };
  struct Output {
    plan::OutputRole role;
    plan::Encoding encoding;
    mlir::FlatSymbolRefAttr buffer;
  };

  plan::BufferRefAttr addBuffer(llvm::StringRef hint, kernel::ActivationType rows, RowCount count,
                                bool persistent);
  /// Adds a buffer with `bytes` bytes for each token or for each logits row.
  plan::BufferRefAttr addBuffer(llvm::StringRef hint, int64_t bytes, kernel::Extent extent,
                                bool persistent);
  plan::SectionOp addSection(llvm::StringRef name);
  /// Builds the kernel, or finds one that is identical except for its name; returns its symbol.
  std::string
  kernelFor(llvm::StringRef hint, llvm::ArrayRef<LaunchOperand> operands,
            llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)> build);
  /// The table a rope op reads; the layers' frequencies were checked by addTables.
  const Table *tableFor(lm::RopeOp rope) const;

  plan::ProgramOp program;
  mlir::ModuleOp module;
  LoweringChoices choices;
  llvm::StringMap<std::string> kernelsByText;
  llvm::StringSet<> taken; ///< symbols of the model
  llvm::StringMap<int> counters;
  llvm::SmallVector<plan::BufferRefAttr> carried; ///< in the order of lm.layers
  std::vector<Table> tables;
  llvm::DenseMap<mlir::Operation *, size_t> tableOfRope;
  llvm::DenseMap<mlir::Value, StateUse> stateUses; ///< by argument of a layer kind
  llvm::SmallVector<Output> outputs;
};

/// The values that are rows.
llvm::SmallVector<mlir::Value> rowsAmong(mlir::ValueRange values);

} // namespace ingot
