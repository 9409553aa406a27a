//===- KvCaches.h - Requested KV cache formats of single layers -------------===//
#pragma once

#include "compiler/options/Compatibility.h"
#include "compiler/targets/CodeTarget.h"

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::compiler {

/// The rules of --kv, checked against a model or a program.
class KvCaches {
public:
  /// `module` has a model or a program. Errors: E0459; all errors of the compatibility matrix.
  static Result<KvCaches> of(mlir::ModuleOp module, const CompileOptions &options,
                             const ModelSizes &sizes);

  /// Returns the format of the layer's cache on that target: the format requested for the layer if the target supports
  /// it, else the target's format for all layers.
  llvm::StringRef formatOf(size_t layer, const CodeTarget &target,
                           const CompileOptions &options) const;
  /// Returns "FIRST-LAST:FORMAT" for layers with a cache format other than the target's.
  std::vector<std::string> runsFor(const CodeTarget &target, const CompileOptions &options) const;

  /// Describes the first cache of a program that does not match these options: "its KV cache is of f16, that of cpu
  /// would be of bf16".
  std::optional<std::string> firstOther(mlir::ModuleOp module, const CodeTarget &target,
                                        const CompileOptions &options) const;

private:
  std::vector<std::optional<KvFormat>> asked; ///< by layer
};

/// Returns the values of --kv that produce the caches of this program ("int4", "0-3,28-29=bf16"). The first value is
/// the format of most layers, and the rest are rules for the other layers. The result is empty if the program has no
/// cache.
std::vector<std::string> kvWords(plan::ProgramOp program);

} // namespace ingot::compiler
