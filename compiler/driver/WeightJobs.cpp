//===- WeightJobs.cpp - Pack weights piece by piece -----------------------===//
//
// A job packs a few panels of one weight: small enough that threads share the work
// evenly and that memory stays at threads * a few MiB. Only stored weights have jobs.
//===----------------------------------------------------------------------===//
#include "compiler/driver/EngineTable.h"
#include "compiler/import/Dequantize.h"
#include "compiler/pack/Pack.h"
#include "runtime/formats/SeedWeights.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

constexpr int64_t kJobBytes = 4 << 20;

/// Calls `make(firstPanel, panels)` for pieces of about kJobBytes.
template <typename Make> static void forPieces(const PanelLayout &layout, Make make) {
  int64_t perJob = std::max<int64_t>(1, kJobBytes / layout.panelBytes());
  for (int64_t first = 0; first < layout.panels; first += perJob)
    make(first, std::min(perJob, layout.panels - first));
}

static FillJob valuesJob(const fb::WeightT &weight, DenseF32ArrayAttr values) {
  std::vector<float> numbers(values.asArrayRef());
  return {weight.offset, weight.size, [numbers = std::move(numbers)](std::span<std::byte> out) -> Result<void> {
            std::memcpy(out.data(), numbers.data(), numbers.size() * sizeof(float));
            return {};
          }};
}

std::vector<FillJob> compiler::weightJobs(plan::ProgramOp program, const fb::EngineT &table,
                                          const import::Checkpoint &checkpoint) {
  std::vector<FillJob> jobs;
  auto entry = table.weights.begin();
  for (plan::WeightOp op : program.getBody().getOps<plan::WeightOp>()) {
    const fb::WeightT &weight = **entry++;
    if (op.getValuesAttr()) {
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
      continue;
    }
    const import::Tensor *tensor = checkpoint.find(op.getSource()->str());
    if (op.getType().isVector()) {
      jobs.push_back({weight.offset, weight.size, [tensor](std::span<std::byte> out) -> Result<void> {
                        if (auto finite = import::checkFinite(*tensor); !finite)
                          return finite.error();
                        return packVector(*tensor, out);
                      }});
      continue;
    }
    PanelLayout layout = panelLayout(op.getType().getFormat(), op.getType().rows(), op.getType().columns());
    forPieces(layout, [&](int64_t first, int64_t panels) {
      uint64_t offset = weight.offset + first * layout.panelBytes();
      jobs.push_back({offset, static_cast<uint64_t>(panels * layout.panelBytes()),
                      [tensor, layout, first](std::span<std::byte> out) -> Result<void> {
                        if (first == 0)
                          if (auto finite = import::checkFinite(*tensor); !finite)
                            return finite.error();
                        return packPanels(*tensor, layout, first, out);
                      }});
    });
  }
  return jobs;
}

std::vector<FillJob> compiler::madeUpWeightJobs(plan::ProgramOp program, const fb::EngineT &table, uint64_t seed) {
  std::vector<FillJob> jobs;
  auto entry = table.weights.begin();
  for (plan::WeightOp op : program.getBody().getOps<plan::WeightOp>()) {
    const fb::WeightT &weight = **entry++;
    if (op.getValuesAttr()) {
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
      continue;
    }
    if (weight.source == fb::WeightSource::Seed)
      continue;
    if (op.getType().isVector()) {
      jobs.push_back({weight.offset, weight.size, [n = op.getType().rows()](std::span<std::byte> out) -> Result<void> {
                        fillSeedVector(n, out);
                        return {};
                      }});
      continue;
    }
    PanelLayout layout = panelLayout(op.getType().getFormat(), op.getType().rows(), op.getType().columns());
    forPieces(layout, [&](int64_t first, int64_t panels) {
      jobs.push_back({weight.offset + first * layout.panelBytes(), static_cast<uint64_t>(panels * layout.panelBytes()),
                      [seed, tensor = weight.tensor, layout, first](std::span<std::byte> out) -> Result<void> {
                        fillSeedPanels(seed, tensor, layout, first, out);
                        return {};
                      }});
    });
  }
  return jobs;
}
