//===- Extensions.h - What users bring to a compilation ----------------------===//
//
//   --plugin F.so                loads passes               E0415, E0420
//   --patterns POINT=F.pdll      rewrites at a point        E0421 to E0430
//   --insert POINT=PIPELINE      runs passes at a point     E0409, E0434
//
// All of it is looked at before the checkpoint is.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/Diagnostics.h"
#include "compiler/extend/PatternFile.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::compiler {

class Extensions {
public:
  Extensions(const CompileOptions &options, mlir::MLIRContext &context)
      : options(options), context(context) {}

  /// Loads the plugins, whose passes have names from then on.
  Result<void> loadPlugins(const Diagnostics &diagnostics);
  /// Reads patterns, and holds pipelines against the passes and ops that there are.
  Result<void> read();

  /// Adds what runs at a point: the patterns, then the passes, which may clean up behind them. `device`: for which the
  /// program is lowered; "" before.
  void addAt(llvm::StringRef point, mlir::OpPassManager &pm, llvm::StringRef device = "") const;

  /// Names of the passes that --insert brings.
  const llvm::StringSet<> &passes() const { return inserted; }
  /// "; --plugin a.so, b.so", for words about passes that crash; "" without plugins.
  std::string plugins() const;
  /// "ingot-opt --plugin=a.so", which has the same passes and ops.
  std::string replayCommand() const;
  /// "--insert 'pre-fusion=lm.model(my-pass)'" for the first that names no op.
  std::string nestedInsertion() const;

private:
  Result<void> noteInserted(const std::string &point, const std::string &text,
                            mlir::OpPassManager &pm);

  /// Whom patterns over lm ask at a point.
  patterns::CompiledFor askedAt(llvm::StringRef point) const;

  const CompileOptions &options;
  mlir::MLIRContext &context;
  llvm::StringSet<> inserted;
  std::vector<extend::Patterns> files; ///< of each of the options' files
};

} // namespace ingot::compiler
