//===- FillDummyWeights.cpp - Generates weights in pieces on all threads --===//
#include "runtime/device/cpu/FillDummyWeights.h"

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/engine/WeightLayouts.h"
#include "runtime/formats/DummyWeights.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace ingot::cpu {

namespace {

constexpr int64_t kPieceBytes = 4 << 20;

/// Some panels of a weight, or a whole vector.
struct Piece {
  const fb::Weight *weight;
  int64_t firstPanel;
  std::span<std::byte> bytes;
};

std::vector<Piece> piecesOf(const fb::Program &program, std::span<std::byte> memory) {
  std::vector<Piece> pieces;
  for (const fb::Weight *weight : *program.weights()) {
    if (weight->source() != fb::WeightSource::Seed)
      continue;
    std::span<std::byte> bytes = memory.subspan(weight->offset(), weight->size());
    if (weight->layout() == fb::WeightLayout::VectorF32) {
      pieces.push_back({weight, 0, bytes});
      continue;
    }
    PanelLayout layout = runtime::panelLayoutOf(*weight);
    int64_t step = std::max<int64_t>(1, kPieceBytes / layout.panelBytes());
    for (int64_t first = 0; first < layout.panels; first += step) {
      int64_t panels = std::min(step, layout.panels - first);
      pieces.push_back({weight, first,
                        bytes.subspan(size_t(first * layout.panelBytes()),
                                      size_t(panels * layout.panelBytes()))});
    }
  }
  return pieces;
}

/// Pieces, taken one at a time by whichever thread is free.
class Filling {
public:
  Filling(uint64_t seed, std::vector<Piece> pieces) : seed(seed), pieces(std::move(pieces)) {}

  void work() {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      const fb::Weight &weight = *pieces[i].weight;
      if (weight.layout() == fb::WeightLayout::VectorF32)
        fillSeedVector(int64_t(weight.shape()->Get(0)), pieces[i].bytes);
      else
        fillSeedPanels(seed, weight.tensor(), runtime::panelLayoutOf(weight), pieces[i].firstPanel,
                       pieces[i].bytes);
    }
  }
  size_t size() const { return pieces.size(); }

private:
  uint64_t seed;
  std::vector<Piece> pieces;
  std::atomic<size_t> next = 0;
};

} // namespace

Result<void> fillDummyWeights(const fb::Program &program, uint64_t seed,
                              std::span<std::byte> memory, int threads) {
  Filling filling(seed, piecesOf(program, memory));
  if (filling.size() == 0)
    return {};
  auto work = [](void *context, int) { static_cast<Filling *>(context)->work(); };
  auto pool =
      ThreadPool::create(int(std::min<size_t>(size_t(threads), filling.size())), work, &filling);
  if (!pool)
    return pool.error();
  (*pool)->invite();
  filling.work();
  return {}; // the pool's destructor waits for the other threads
}

} // namespace ingot::cpu
