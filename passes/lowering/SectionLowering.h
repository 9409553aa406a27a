//===- SectionLowering.h - One function becomes one list of launches ------===//
//
// Op by op, one launch each: its operands are looked up, its results get a place, a kernel is built. In which form a
// value is held its type says (RowForms.h), how many rows it has follows from what made it, and where it lies is
// settled when its maker is lowered, or before that for what comes from or goes to other sections (`bind`).
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Section.h"
#include "passes/lowering/ProgramBuilder.h"
#include "passes/lowering/RowForms.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/IRMapping.h"

namespace ingot::lm {
class AttentionOp;
class CausalConvOp;
class CombineOp;
class EmbedOp;
class EmbedPositionsOp;
class FusedOp;
class KvAppendOp;
class PermuteOp;
class RoundOp;
class RouteOp;
class RowOpInterface;
} // namespace ingot::lm

namespace ingot {

class SectionLowering {
public:
  using Build = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;

  SectionLowering(ProgramBuilder &program, plan::SectionOp section, mlir::Block &block)
      : program(program), section(section), block(block) {}

  /// What the plan passes for a value: a buffer, a weight. Who makes a value that is bound before writes it there.
  void bind(mlir::Value value, mlir::Attribute ref) { refs[value] = ref; }
  mlir::FlatSymbolRefAttr bufferOf(mlir::Value value) const {
    return mlir::cast<plan::BufferRefAttr>(refs.lookup(value)).getSymbol();
  }

  /// Lowers the ops of [first, last). What they read from elsewhere is bound.
  mlir::LogicalResult lowerRange(mlir::Block::iterator first, mlir::Block::iterator last);
  /// Makes sure that `value` ends up in the buffer, with a copy if need be.
  void moveTo(mlir::Value value, mlir::Attribute buffer);
  void launchTable(const ProgramBuilder::Table &table);

private:
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerEmbed(lm::EmbedOp op);
  mlir::LogicalResult lowerEmbedPositions(lm::EmbedPositionsOp op);
  mlir::LogicalResult lowerRound(lm::RoundOp op);
  mlir::LogicalResult lowerMatmul(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops,
                                  llvm::StringRef hint);
  mlir::LogicalResult lowerRowwise(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops,
                                   llvm::StringRef hint);
  mlir::LogicalResult lowerPermute(mlir::Operation *top, lm::PermuteOp op);
  // ExpertLowering.cpp
  mlir::LogicalResult lowerRoute(lm::RouteOp op);
  mlir::LogicalResult lowerCombine(lm::CombineOp op);
  // StateLowering.cpp
  mlir::LogicalResult lowerRopeAppend(mlir::Operation *top, llvm::ArrayRef<mlir::Operation *> ops);
  mlir::LogicalResult lowerAttention(mlir::Operation *top, lm::AttentionOp op);
  mlir::LogicalResult lowerCausalConv(lm::CausalConvOp op);

  // CustomLowering.cpp
  /// The code of a kernel from outside, and what it means.
  struct CustomKernel {
    llvm::StringRef origin, body;
    double error;
    int64_t operations;
    /// Builds ops of lm where the builder stands, and maps results.
    llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::IRMapping &)> meaning;
  };
  mlir::LogicalResult lowerCustom(mlir::Operation *top, llvm::ArrayRef<mlir::Value> read,
                                  const CustomKernel &code);
  mlir::LogicalResult lowerOutside(lm::RowOpInterface op);
  mlir::LogicalResult lowerDecomposed(lm::RowOpInterface op);
  mlir::LogicalResult lowerWithKernel(lm::FusedOp op, llvm::StringRef body);

  /// Rows, routes or a weight that a launch reads.
  LaunchOperand operand(mlir::Value value) const;
  /// The memory of a state, as a value of it names it.
  LaunchOperand stateOperand(mlir::Value value);
  /// Where a result is written: where it is bound to, in place of a value of `read` (row by row) that nobody reads
  /// after its maker, or in a buffer of its own.
  LaunchOperand output(llvm::StringRef hint, mlir::Value result,
                       llvm::ArrayRef<mlir::Value> read = {});
  /// No op after `top` reads the value (and it does not leave the section).
  bool diesAt(mlir::Value value, mlir::Operation *top) const;

  void launch(llvm::StringRef hint, llvm::ArrayRef<LaunchOperand> operands, Build build);
  /// The op that is being lowered, as text.
  std::string opsBeingLowered();
  /// What a copy of rows does beside.
  struct Order {
    std::optional<LaunchOperand> columns = {}, routes = {};
    bool dispatched = false; ///< rows are those of `routes` already
  };
  /// A row-wise launch that writes `to` from `from`, element by element, or in that order.
  void copyRows(llvm::StringRef hint, LaunchOperand from, llvm::ArrayRef<LaunchOperand> to,
                RowCount count, const Order &order);
  void copyRows(llvm::StringRef hint, LaunchOperand from, llvm::ArrayRef<LaunchOperand> to,
                RowCount count) {
    copyRows(hint, from, to, count, Order());
  }

  ProgramBuilder &program;
  plan::SectionOp section;
  mlir::Block &block;
  llvm::DenseMap<mlir::Value, mlir::Attribute> refs;
  mlir::Operation *lowered =
      nullptr; ///< of lm, whose launches are being made; null: they are of no op
  std::optional<mlir::AsmState> names; ///< of the section's values, found once
};

} // namespace ingot
