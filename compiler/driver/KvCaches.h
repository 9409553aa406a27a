//===- KvCaches.h - What was asked for the KV caches of single layers -------===//
#pragma once

#include "compiler/console/Mixes.h"
#include "compiler/targets/CodeTarget.h"

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::compiler {

/// The rules of --kv, held against a model or a program.
class KvCaches {
public:
  /// `module` has either. E0459, and what is in the table of mixes.
  static Result<KvCaches> of(mlir::ModuleOp module, const CompileOptions &options,
                             const ModelSizes &sizes);

  /// What the layer's cache is of on that target: as asked, where the target has it, else as --kv says of all.
  llvm::StringRef formatOf(size_t layer, const CodeTarget &target,
                           const CompileOptions &options) const;
  /// "FIRST-LAST:FORMAT" of layers whose cache is of another format than the target's.
  std::vector<std::string> runsFor(const CodeTarget &target, const CompileOptions &options) const;

  /// The first cache of a program that these options would not have made: "its KV cache is of f16, that of cpu would be of
  /// bf16".
  std::optional<std::string> firstOther(mlir::ModuleOp module, const CodeTarget &target,
                                        const CompileOptions &options) const;

private:
  std::vector<std::optional<KvFormat>> asked; ///< by layer
};

/// What --kv has to be for such a program: of most layers, then of others: "int4", "0-3,28-29=bf16". Empty: it has no cache.
std::vector<std::string> kvWords(plan::ProgramOp program);

} // namespace ingot::compiler
