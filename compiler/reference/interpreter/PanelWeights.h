//===- PanelWeights.h - Weights for the plan interpreter and compiled code ----------===//
//
// Compiled code reads packed panels, and the plan interpreter reads the values that they represent. Panel p of a weight
// is the generated panel p % kBasePanels. This makes weights of any size cheap: there are few distinct panels, and the
// same pages of memory are mapped repeatedly. Tiles for GPUs hold the same values.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Weights.h"

#include <memory>

namespace ingot::reference::interpreter {

class PanelWeights : public WeightProvider {
public:
  explicit PanelWeights(uint64_t seed = 1);
  ~PanelWeights() override;

  Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) override;
  Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) override;

  /// Returns the weight in its type's layout, as an engine stores it (runtime/formats/PanelLayout.h, FragmentLayout.h).
  /// It is valid for the lifetime of this object. `values` are its explicit values, if it has any. Returns null if the
  /// system provides no memory.
  const void *packed(llvm::StringRef name, lm::WeightType type, llvm::ArrayRef<float> values);

private:
  struct Base;
  struct Mapping;
  const Base &baseOf(llvm::StringRef name, lm::WeightType type);
  static bool repeat(const Mapping &mapping, std::span<const std::byte> unit);
  bool packPanels(const Base &base, llvm::StringRef name, lm::WeightType type,
                  const Mapping &mapping) const;
  bool packFragments(llvm::StringRef name, lm::WeightType type, const Mapping &mapping) const;

  uint64_t seed;
  llvm::StringMap<std::unique_ptr<Base>> bases;
  llvm::StringMap<std::unique_ptr<Mapping>> mappings;
};

} // namespace ingot::reference::interpreter
