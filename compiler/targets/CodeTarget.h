//===- CodeTarget.h - A kind of device that engines are compiled for ------===//
//
//   fused lm ──lowering, planning──▶ kernels + plan ──begin().addCode──▶ code objects of one program
//              (passes/Target.h)          │
//                                         └──begin().emit──▶ text, or rows of `ingot tune`
//
// The driver walks over codeTargets() and knows none of them by name. A new one is a folder here, with
// a line in Targets.cpp (docs/extending.md).
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/console/Options.h"
#include "compiler/console/Progress.h"
#include "compiler/engine/CodeCache.h"
#include "compiler/engine/EngineWriter.h"
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

/// What a compilation lends its targets, for as long as it lasts.
struct CodeContext {
  const CompileOptions &options;
  int threads;
  Progress &progress;
  std::optional<CodeCache> &cache; ///< opened before code is made, if at all
  std::string identity;            ///< which build of the compiler asks (CompilerIdentity.h)
  std::function<void(const std::string &)> warn;   ///< a line for people
  std::function<Error(std::string)> compilerError; ///< E0490: what we have done wrong
  mlir::TimingScope &timing;                       ///< of the compilation
};

/// What code did beside the slow machine.
struct CodeEvidence {
  std::string code;   ///< "code of cpu:avx2"
  std::string inputs; ///< what it was run on, or why it was not
  double maxAbs = 0, maxRel = 0;
  int64_t launches = 0;
};

/// Code of one kernel, for people.
struct CodeText {
  std::string kernel, text;
};

/// A target at work for one compilation.
class CodeJob {
public:
  virtual ~CodeJob() = default;
  /// A stage of `--emit` that is this target's, or `ingot tune`. Prints to where the options say.
  virtual Result<void> emit(llvm::ArrayRef<kernel::FuncOp> kernels) = 0;
  /// Adds to the program, whose kernels these are, a code object for each level or architecture that
  /// was asked for, and its segment. Returns what people are told of it.
  virtual Result<std::string> addCode(llvm::ArrayRef<kernel::FuncOp> kernels, fb::ProgramT &table,
                                      std::vector<SegmentSource> &segments) = 0;
  /// Runs the code that was added last, where this machine can, launch by launch beside the slow machine's plan. Errors:
  /// E0886 where a kernel computes something else, E0889 where the machine does not know an op.
  virtual Result<std::vector<CodeEvidence>> checkCode(mlir::ModuleOp) {
    return std::vector<CodeEvidence>();
  }
};

class CodeTarget : public Target {
public:
  /// Whether code for it was asked for, and whether this stage of `--emit` is its own.
  virtual bool isWanted(const CompileOptions &options) const = 0;
  virtual bool emits(Emit stage) const = 0;
  /// Most logits rows of a greedy step; 0: any number.
  virtual int64_t greedyRows() const { return 0; }
  /// The format of its KV cache.
  virtual const std::string &kv(const CompileOptions &options) const = 0;
  /// What else its passes are told.
  virtual void choosePasses(const CompileOptions &, PipelineOptions &) const {}
  /// The names of its phases in the report of a compilation: lowering and planning, code.
  virtual std::pair<const char *, const char *> phases() const = 0;
  /// The code of an engine's code object as text: of `object`, its bytes, or of the kernels that it was made from.
  /// The error says why it is not known.
  virtual llvm::Expected<std::vector<CodeText>>
  listCode(llvm::StringRef codeTarget, llvm::StringRef object,
           llvm::function_ref<llvm::ArrayRef<kernel::FuncOp>()> kernels,
           bool batchInvariant) const = 0;
  /// Before the checkpoint is read, so that what the user brings is looked at first.
  virtual Result<std::unique_ptr<CodeJob>> begin(const CodeContext &context) const = 0;
};

/// All targets. The one whose program comes first in an engine is the first.
llvm::ArrayRef<const CodeTarget *> codeTargets();
/// Makes them known to passes.
void registerTargets();

/// Each in its folder.
const CodeTarget &cpuTarget();
const CodeTarget &cudaTarget();

} // namespace ingot::compiler
