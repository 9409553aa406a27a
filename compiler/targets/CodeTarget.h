//===- CodeTarget.h - A kind of device for which engines are compiled -----===//
//
//   fused lm ──lowering, planning──▶ kernels + plan ──begin().addCode──▶ code objects of one program
//              (passes/Target.h)          │
//                                         └──begin().emit──▶ text
//
// The driver iterates over codeTargets() and names none of them. A new target is a folder here and a
// line in Targets.cpp (docs/extending.md).
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CachedCode.h"
#include "compiler/engine/EngineWriter.h"
#include "compiler/options/Options.h"
#include "dialects/kernel/KernelDialect.h"
#include "passes/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace ingot::kernel {
class FuncOp;
}

namespace ingot::compiler {

/// The parts of a compilation that targets may use while it runs.
struct CodeContext {
  const CompileOptions &options;
  int threads;
  std::optional<CodeCache> &cache;                 ///< set before code generation, or empty
  std::function<Error(std::string)> compilerError; ///< E0490: an internal error
  mlir::TimingScope &timing;                       ///< timing of the compilation
};

/// The result of checking code against the plan interpreter.
struct CodeEvidence {
  std::string code;   ///< "code of cpu:avx2"
  std::string inputs; ///< the inputs it was run on, or why it was not run
  double maxAbs = 0, maxRel = 0;
  int64_t launches = 0;
};

/// Code of one kernel, for display.
struct CodeText {
  std::string kernel, text;
};

/// The work of a target for one compilation.
class CodeJob {
public:
  virtual ~CodeJob() = default;
  /// Handles an `--emit` stage of this target. Prints to the destination in the options.
  virtual Result<void> emit(llvm::ArrayRef<kernel::FuncOp> kernels) = 0;
  /// Adds a code object and its segment for each requested level or architecture to the program `table`, to which
  /// `kernels` belong. Returns a summary for users.
  virtual Result<std::string> addCode(llvm::ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table,
                                      std::vector<SegmentSource> &segments) = 0;
  /// Compares the code that was added last with the plan interpreter, launch by launch, as far as this machine can run
  /// the code. Errors: E0886 if a kernel computes something else, E0889 if the interpreter does not know an op.
  virtual Result<std::vector<CodeEvidence>> checkCode(mlir::ModuleOp) {
    return std::vector<CodeEvidence>();
  }
};

class CodeTarget : public Target {
public:
  /// Returns whether code for this target was requested, and whether it handles this `--emit` stage.
  virtual bool isWanted(const CompileOptions &options) const = 0;
  virtual bool emits(Emit stage) const = 0;
  /// Returns the values of --target that request the same code again: "cpu:avx2". With `onEmulators`, the values name
  /// emulators instead of devices that have one.
  virtual std::vector<std::string> wanted(const CompileOptions &options,
                                          bool onEmulators) const = 0;
  /// Returns the largest number of logits rows in a greedy step; 0: unlimited.
  virtual int64_t greedyRows() const { return 0; }
  /// Returns the format of its KV cache.
  virtual const std::string &kv(const CompileOptions &options) const = 0;
  /// Sets further options of its passes.
  virtual void choosePasses(const CompileOptions &, PipelineOptions &) const {}
  /// Returns the names of its phases in the compilation report: lowering and planning, code.
  virtual std::pair<const char *, const char *> phases() const = 0;
  /// Returns the code of an engine's code object as text, made from the bytes `object` or from the original kernels.
  /// The error gives the reason why the text is not available.
  virtual llvm::Expected<std::vector<CodeText>>
  listCode(llvm::StringRef codeTarget, llvm::StringRef object,
           llvm::function_ref<llvm::ArrayRef<kernel::FuncOp>()> kernels,
           bool batchInvariant) const = 0;
  /// Starts a compilation.
  virtual std::unique_ptr<CodeJob> begin(const CodeContext &context) const = 0;
};

/// Returns all targets. Their order is the order of programs in an engine.
llvm::ArrayRef<const CodeTarget *> codeTargets();
/// Registers all targets for passes.
void registerTargets();

/// Each is defined in its folder.
const CodeTarget &cpuTarget();
const CodeTarget &cudaTarget();

} // namespace ingot::compiler
