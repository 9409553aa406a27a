//===- PanelWeights.h - Weights that the slow machine and compiled code both read ---===//
//
// Compiled code reads packed panels, and the machine the numbers that they stand for. So that this is cheap for weights of
// any size, panel p of a weight is the seeded panel p % kBasePanels: its numbers are few, and in memory it is the same
// pages again and again. Tiles for GPUs hold the same numbers.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/reference/Weights.h"

#include <memory>

namespace ingot::reference::machine {

class PanelWeights : public WeightProvider {
public:
  explicit PanelWeights(uint64_t seed = 1);
  ~PanelWeights() override;

  Result<void> row(lm::WeightOp weight, int64_t index, std::span<float> out) override;
  Result<Matrix> multiply(lm::WeightOp weight, const Matrix &x, int64_t matrix = 0) override;

  /// The weight as an engine holds it in its type's layout (runtime/formats/PanelLayout.h, FragmentLayout.h), for as long
  /// as this lives; `values` are its numbers, where it has its own. Null where the system lends no memory.
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

} // namespace ingot::reference::machine
