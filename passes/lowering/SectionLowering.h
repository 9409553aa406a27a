//===- SectionLowering.h - One function becomes one list of launches ------===//
#pragma once

#include "dialects/plan/ops/Program.h"
#include "passes/Passes.h"

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
  KvFormat kv;
  bool bf16Rows = false; ///< projections read them, whatever their weights' format
  bool fp8Rows = false;  ///< those of fp8 weights alone get fp8 rows as well
};

/// How kernels use a state of a layer kind.
struct StateUse {
  mlir::Type memory; ///< what they see of it; null: none does
  int64_t window = 0;
};

/// An operand of a launch: what the kernel sees, and what the plan passes.
struct LaunchOperand {
  mlir::Type type;
  mlir::Attribute ref;
};

/// The program under construction: kernels (shared where they are the same), buffers, sections.
class ProgramBuilder {
public:
  /// No buffer is called as something of `model` is: weights, states and sections of layer kinds keep their
  /// names, and a program has one table of symbols.
  ProgramBuilder(plan::ProgramOp program, lm::ModelOp model, LoweringChoices choices);

  /// A buffer of cos and sin for each frequency vector that layers rotate with.
  mlir::LogicalResult addTables(lm::LayersOp layers);
  mlir::LogicalResult lowerBegin(lm::EntryOp entry, lm::LayersOp layers);
  mlir::LogicalResult lowerKind(lm::LayerKindOp kind);
  mlir::LogicalResult lowerEnd(lm::EntryOp entry, lm::LayersOp layers);
  /// The plan.state of an argument of a layer kind. Its kind is lowered.
  mlir::LogicalResult addState(lm::StateOp state, mlir::Value argument);
  /// Where the result of the entry is, once its end is lowered.
  const std::string &logitsBuffer() const { return logits; }

private:
  friend class SectionLowering;

  struct Table {
    std::string symbol; // of the frequencies
    float factor;
    kernel::RowsType rows;
    std::string buffer;
  };

  plan::BufferOp addBuffer(llvm::StringRef hint, kernel::RowsType rows, kernel::Extent extent,
                           bool persistent);
  plan::SectionOp addSection(llvm::StringRef name);
  /// Builds the kernel, or finds one that is the same but for its name; returns its symbol.
  std::string
  kernelFor(llvm::StringRef hint, llvm::ArrayRef<LaunchOperand> operands,
            llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)> build);
  /// The table a rope op reads; the layers' frequencies were checked by addTables.
  const Table *tableFor(lm::RopeOp rope) const;

  plan::ProgramOp program;
  mlir::ModuleOp module;
  LoweringChoices choices;
  llvm::StringMap<std::string> kernelsByText;
  llvm::StringSet<> taken; ///< names of the model
  llvm::StringMap<int> counters;
  std::vector<Table> tables;
  llvm::DenseMap<mlir::Operation *, size_t> tableOfRope;
  llvm::DenseMap<mlir::Value, StateUse> stateUses; ///< by argument of a layer kind
  std::string logits;
};

} // namespace ingot
