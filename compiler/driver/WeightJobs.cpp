//===- WeightJobs.cpp - Pack weights piece by piece -----------------------===//
//
// A job packs a few panels of one weight and is small enough to spread the work evenly over threads. The
// writer takes several jobs at once (EngineWriter.cpp), so memory stays at threads * 16 MiB. Only stored
// weights have jobs.
//===----------------------------------------------------------------------===//
#include "compiler/driver/CheckPacked.h"
#include "compiler/driver/EngineTable.h"
#include "compiler/pack/Pack.h"
#include "dialects/plan/ops/Program.h"
#include "runtime/formats/SeedWeights.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

constexpr int64_t kJobBytes = 4 << 20;

/// Adds jobs for pieces of about kJobBytes. The weight has `units` panels or tiles of `unitBytes`;
/// `fill(first, out)` packs some of them.
template <typename Fill>
static void addPieces(std::vector<FillJob> &jobs, uint64_t offset, int64_t units, int64_t unitBytes,
                      Fill fill) {
  int64_t perJob = std::max<int64_t>(1, kJobBytes / unitBytes);
  for (int64_t first = 0; first < units; first += perJob)
    jobs.push_back(
        {offset + first * unitBytes,
         static_cast<uint64_t>(std::min(perJob, units - first) * unitBytes),
         [fill, first](std::span<std::byte> out) -> Result<void> { return fill(first, out); }});
}

static FillJob valuesJob(const fb::WeightT &weight, DenseF32ArrayAttr values) {
  std::vector<float> numbers(values.asArrayRef());
  assert(numbers.size() <= weight.size / sizeof(float) &&
         "more values than the weight has room for");
  return {weight.offset, weight.size,
          [numbers = std::move(numbers)](std::span<std::byte> out) -> Result<void> {
            std::memcpy(out.data(), numbers.data(), numbers.size() * sizeof(float));
            return {};
          }};
}

std::vector<FillJob> compiler::weightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                          const import::Checkpoint &checkpoint) {
  std::vector<FillJob> jobs;
  auto entry = table.weights.begin();
  for (plan::WeightOp op : program.getBody().getOps<plan::WeightOp>()) {
    const fb::WeightT &weight = **entry++;
    if (op.getValuesAttr()) {
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
      continue;
    }
    auto found = import::RowSource::find(checkpoint, lm::rowsOf(*op.getSource()),
                                         op.getType().isVectors() ? import::Unit::Numbers
                                                                  : import::Unit::Rows);
    assert(found && "rows that the checkpoint does not hold were refused at import");
    // The jobs share the source and outlive this function.
    auto source = std::make_shared<const import::RowSource>(std::move(*found));
    const std::string name = op.getSymName().str();
    if (op.getType().isVector()) {
      jobs.push_back(
          {weight.offset, weight.size, [source, name](std::span<std::byte> out) -> Result<void> {
             if (auto finite = source->checkFinite(); !finite)
               return finite.error();
             if (auto packed = packVector(*source, out); !packed)
               return packed;
             return checkPackedVector(*source, out, name);
           }});
      continue;
    }
    // Jobs run roughly in the order of weights, so pages read for earlier weights are no longer needed.
    auto checked = [source, &checkpoint](int64_t first) {
      if (first != 0)
        return Result<void>();
      checkpoint.forgetPages();
      return source->checkFinite();
    };
    if (weight.layout == fb::WeightLayout::Fragment16) {
      FragmentLayout layout = kernel::fragmentLayoutOf(op.getType());
      addPieces(jobs, weight.offset, layout.tiles, layout.tileBytes(),
                [=](int64_t first, std::span<std::byte> out) -> Result<void> {
                  if (auto finite = checked(first); !finite)
                    return finite;
                  if (auto packed = packFragments(*source, layout, first, out); !packed)
                    return packed;
                  return checkPacked(*source, layout, first, out, name);
                });
      continue;
    }
    PanelLayout layout = kernel::panelLayoutOf(op.getType());
    addPieces(jobs, weight.offset, layout.panels, layout.panelBytes(),
              [=](int64_t first, std::span<std::byte> out) -> Result<void> {
                if (auto finite = checked(first); !finite)
                  return finite;
                if (auto packed = packPanels(*source, layout, first, out); !packed)
                  return packed;
                return checkPacked(*source, layout, first, out, name);
              });
  }
  return jobs;
}

std::vector<FillJob> compiler::dummyWeightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                               uint64_t seed) {
  std::vector<FillJob> jobs;
  auto entry = table.weights.begin();
  for (plan::WeightOp op : program.getBody().getOps<plan::WeightOp>()) {
    auto tensor = static_cast<uint32_t>(entry - table.weights.begin());
    const fb::WeightT &weight = **entry++;
    if (op.getValuesAttr()) {
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
      continue;
    }
    if (weight.source == fb::WeightSource::Seed)
      continue;
    if (op.getType().isVector()) {
      jobs.push_back({weight.offset, weight.size,
                      [n = op.getType().rows()](std::span<std::byte> out) -> Result<void> {
                        fillSeedVector(n, out);
                        return {};
                      }});
      continue;
    }
    if (weight.layout == fb::WeightLayout::Fragment16) {
      FragmentLayout layout = kernel::fragmentLayoutOf(op.getType());
      addPieces(jobs, weight.offset, layout.tiles, layout.tileBytes(),
                [=](int64_t first, std::span<std::byte> out) -> Result<void> {
                  fillSeedFragments(seed, tensor, layout, first, out);
                  return {};
                });
      continue;
    }
    PanelLayout layout = kernel::panelLayoutOf(op.getType());
    addPieces(jobs, weight.offset, layout.panels, layout.panelBytes(),
              [=](int64_t first, std::span<std::byte> out) -> Result<void> {
                fillSeedPanels(seed, tensor, layout, first, out);
                return {};
              });
  }
  return jobs;
}
