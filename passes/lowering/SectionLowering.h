//===- SectionLowering.h - Lowers one function to one list of launches ----===//
//
// Each op becomes one launch: its operands are looked up, its results get a location, a kernel is built. The
// type of a value gives its encoding (RowEncodings.h), its producer determines its number of rows, and its
// location is fixed when its producer is lowered, or earlier for values that come from or go to other
// sections (`bind`).
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/ops/Section.h"
#include "passes/lowering/ProgramBuilder.h"
#include "passes/lowering/RowEncodings.h"

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
class CastOp;
class RouteOp;
class RowOpInterface;
} // namespace ingot::lm

namespace ingot {

class SectionLowering {
public:
  using Build = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;

  SectionLowering(ProgramBuilder &program, plan::SectionOp section, mlir::Block &block)
      : program(program), section(section), block(block) {}

  /// Sets the argument that the plan passes for a value: a buffer, a weight. The producer of a bound value
  /// writes it there.
  void bind(mlir::Value value, mlir::Attribute ref) { refs[value] = ref; }
  mlir::FlatSymbolRefAttr bufferOf(mlir::Value value) const {
    return mlir::cast<plan::BufferRefAttr>(refs.lookup(value)).getSymbol();
  }

  /// Lowers the ops of [first, last). Values they read from elsewhere must be bound.
  mlir::LogicalResult lowerRange(mlir::Block::iterator first, mlir::Block::iterator last);
  /// Ensures that `value` ends up in the buffer, with a copy if necessary.
  void moveTo(mlir::Value value, mlir::Attribute buffer);
  void launchTable(const ProgramBuilder::Table &table);

private:
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerEmbed(lm::EmbedOp op);
  mlir::LogicalResult lowerEmbedPositions(lm::EmbedPositionsOp op);
  mlir::LogicalResult lowerCast(lm::CastOp op);
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
  /// The code of an external kernel and its definition in lm.
  struct CustomKernel {
    llvm::StringRef origin, body;
    double error;
    int64_t operations;
    /// Builds lm ops at the insertion point, and maps results.
    llvm::function_ref<void(mlir::ImplicitLocOpBuilder &, mlir::IRMapping &)> meaning;
  };
  mlir::LogicalResult lowerCustom(mlir::Operation *top, llvm::ArrayRef<mlir::Value> read,
                                  const CustomKernel &code);
  mlir::LogicalResult lowerOutside(lm::RowOpInterface op);
  mlir::LogicalResult lowerDecomposed(lm::RowOpInterface op);
  mlir::LogicalResult lowerWithKernel(lm::FusedOp op, llvm::StringRef body);

  /// Rows, routes or a weight that a launch reads.
  LaunchOperand operand(mlir::Value value) const;
  /// The memory of a state, identified by one of its values.
  LaunchOperand stateOperand(mlir::Value value);
  /// The location of a result: where it is bound, or in place of a value of `read` (row by row) that has no
  /// consumer after its producer, or in a new buffer.
  LaunchOperand output(llvm::StringRef hint, mlir::Value result,
                       llvm::ArrayRef<mlir::Value> read = {});
  /// True if no op after `top` reads the value (and it does not leave the section).
  bool diesAt(mlir::Value value, mlir::Operation *top) const;

  void launch(llvm::StringRef hint, llvm::ArrayRef<LaunchOperand> operands, Build build);
  /// The op being lowered, as text.
  std::string opsBeingLowered();
  /// What a copy of rows does in addition.
  struct Order {
    std::optional<LaunchOperand> columns = {}, routes = {};
    bool dispatched = false; ///< rows are already those of `routes`
  };
  /// A row-wise launch that writes `to` from `from` element by element, or in the given order.
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
      nullptr; ///< the lm op whose launches are being made; null: the launches belong to no op
  std::optional<mlir::AsmState> names; ///< of the section's values, computed once
};

} // namespace ingot
