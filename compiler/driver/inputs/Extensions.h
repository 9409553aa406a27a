//===- Extensions.h - Plugins, patterns and passes of the user ---------------===//
//
//   --plugin F.so                loads passes               E0415, E0420
//   --patterns POINT=F.pdll      rewrites at a point        E0421 to E0430
//   --insert POINT=PIPELINE      runs passes at a point     E0409, E0434
//
// All of these are checked before the checkpoint is opened.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/report/Diagnostics.h"
#include "compiler/extend/PatternFile.h"
#include "passes/PassOptions.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::compiler {

class Extensions {
public:
  Extensions(const CompileOptions &options, mlir::MLIRContext &context)
      : options(options), context(context) {}

  /// Loads the plugins, which registers their passes.
  Result<void> loadPlugins(const Diagnostics &diagnostics);
  /// Reads patterns, and checks pipelines against the known passes and ops.
  Result<void> read();

  /// Adds the patterns and then the passes of a point, so that the passes can clean up after the patterns. `device` is
  /// the device for which the program is lowered. Before lowering, it has no effect.
  void addAt(llvm::StringRef point, mlir::OpPassManager &pm,
             DeviceKind device = kDefaultDevice) const;

  /// Returns the names of the passes of --insert.
  const llvm::StringSet<> &passes() const { return inserted; }
  /// Returns "; --plugin a.so, b.so", for reports of crashed passes; "" without plugins.
  std::string plugins() const;
  /// Returns the command with the same passes and ops: "ingot-opt --plugin=a.so".
  std::string replayCommand() const;
  /// Returns the corrected form of the first --insert that does not name an op: "--insert
  /// 'pre-fusion=lm.model(my-pass)'".
  std::string nestedInsertion() const;

private:
  Result<void> noteInserted(const std::string &point, const std::string &text,
                            mlir::OpPassManager &pm);

  /// Returns the targets that patterns over lm can query at a point.
  patterns::CompiledFor askedAt(llvm::StringRef point) const;

  const CompileOptions &options;
  mlir::MLIRContext &context;
  llvm::StringSet<> inserted;
  std::vector<extend::Patterns> files; ///< one per file in the options
};

} // namespace ingot::compiler
