//===- Target.h - The device properties that lowering and planning query ---===//
//
// Passes over lm are independent of the device. Starting with lm-choose-encodings, a program is compiled
// for one target, which determines the row encodings its kernels read, the launches worth fusing and the
// memory a kernel needs. This interface answers these questions; the target's code generator implements
// compiler/targets/CodeTarget.h, where all targets are listed.
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

  /// The kind of device that the target compiles for, and the name of that kind in the pass option `device` ("cpu").
  virtual DeviceKind kind() const = 0;
  llvm::StringRef name() const { return deviceKindName(kind()); }
  /// The KV cache formats that its kernels read and write.
  virtual bool (*kvFormats() const)(const KvFormatInfo &) = 0;
  /// Whether the target has kernels that use f32 throughout (precision `exact`).
  virtual bool hasExact() const = 0;
  /// True if projections read bf16 rows, whatever the format of their weights. Otherwise they read q8 rows if the
  /// codes of the weights are integers, else f32 rows.
  virtual bool readsBf16Rows() const = 0;

  /// The layout of a matrix that is read by these kernel ops: a projection, the gather of a tied embedding.
  virtual lm::WeightLayout weightLayout(lm::WeightType weight,
                                        llvm::ArrayRef<mlir::Operation *> consumers) const = 0;

  /// Add the passes that run after plan-outline and kernel-choose-layouts, and the first planning passes. `add` skips
  /// passes that the user has disabled.
  virtual void addLoweringPasses(AddPass add) const = 0;
  virtual void addPlanningPasses(AddPass add) const = 0;

  /// How the target would run the kernel, or why it cannot. Passes that fuse launches build the kernel first,
  /// then call this.
  virtual kernel::KernelShape shapeOf(kernel::FuncOp kernel) const = 0;
  /// Bytes of a row of the sums that kernel.draw_weigh passes to kernel.draw_ids; 0 if the target does not draw ids.
  virtual int64_t drawSumsBytes(int64_t /*vocabulary*/) const { return 0; }
};

/// Registers a target for the life of the process. The first one of a kind wins.
void registerTarget(const Target &target);
/// All registered targets, in order of registration.
llvm::ArrayRef<const Target *> knownTargets();
/// The target for a kind of device; one must be registered.
const Target &targetOf(DeviceKind kind);

} // namespace ingot
