//===- Target.h - What lowering and planning ask of a kind of device -------===//
//
// Passes over lm know no device. From lm-choose-forms on a program is made for one: for what rows its
// kernels read, which launches are worth fusing, what memory a kernel wants. A target says so; its
// code generator is behind compiler/targets/CodeTarget.h, where all targets are listed.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/kernel/KernelDialect.h"
#include "passes/Passes.h"
#include "runtime/formats/KvFormat.h"

namespace ingot::kernel {
class FuncOp;
}

namespace ingot {

class Target {
public:
  using AddPass = llvm::function_ref<void(std::unique_ptr<mlir::Pass>)>;

  virtual ~Target() = default;

  /// What the option `device` of passes calls it: "cpu".
  virtual llvm::StringRef name() const = 0;
  /// The formats of a KV cache that its kernels read and write.
  virtual bool (*kvFormats() const)(const KvFormatInfo &) = 0;
  /// Whether it has kernels that keep f32 everywhere (precision `exact`).
  virtual bool hasExact() const = 0;
  /// Projections read rows of bf16, whatever their weights' format; else q8 where codes are integers.
  virtual bool readsBf16Rows() const = 0;

  /// How a matrix lies that these ops of kernels read: a projection, the gather of a tied embedding.
  virtual lm::WeightLayout weightLayout(lm::WeightType weight,
                                        llvm::ArrayRef<mlir::Operation *> readers) const = 0;

  /// What runs behind lm-lower-to-plan and kernel-choose-layouts, and what runs first of planning. `add` leaves out what the
  /// user has disabled.
  virtual void addLoweringPasses(AddPass add) const = 0;
  virtual void addPlanningPasses(AddPass add) const = 0;

  /// How it would run the kernel, or why not. Passes that fuse launches build the kernel first, and ask.
  virtual kernel::KernelShape shapeOf(kernel::FuncOp kernel) const = 0;
  /// Bytes of a row of sums between kernel.draw_weigh and kernel.draw_ids; 0: it does not draw.
  virtual int64_t drawSumsBytes(int64_t /*vocabulary*/) const { return 0; }
};

/// Makes it known, for as long as the program runs; one of that name that is known already stays.
void registerTarget(const Target &target);
/// All that are known, in the order in which they came.
llvm::ArrayRef<const Target *> knownTargets();
/// Null: there is none of that name.
const Target *targetNamed(llvm::StringRef name);
/// The same for a pass over `op`, whose option `device` it is: null after an error there.
const Target *expectTarget(mlir::Operation *op, llvm::StringRef device);

} // namespace ingot
