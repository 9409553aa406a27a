//===- WeightJobs.cpp - Pack weights piece by piece -----------------------===//
//
// A job packs a few panels of one weight and is small enough to spread the work evenly over threads. Each thread of
// the writer takes several jobs at once (EngineWriter.cpp) and needs at most 16 MiB for them. Only stored weights
// have jobs. Their rows come from the checkpoint or from a seed.
//===----------------------------------------------------------------------===//
#include "compiler/driver/checks/CheckPacked.h"
#include "compiler/driver/engine/EngineTable.h"
#include "compiler/pack/Pack.h"
#include "dialects/plan/ops/Program.h"
#include "runtime/formats/DummyWeights.h"

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

namespace {

/// Chooses the function for panels or for tiles, by their layout.
template <typename Layout> constexpr auto unitsOf(auto *panels, auto *tiles) {
  if constexpr (std::is_same_v<Layout, PanelLayout>)
    return panels;
  else
    return tiles;
}

/// Packs one weight from the rows of a checkpoint and checks the result.
class CheckpointRows {
public:
  CheckpointRows(plan::WeightOp op, const import::Checkpoint &checkpoint)
      : checkpoint(&checkpoint), name(op.getSymName()) {
    auto found = import::RowSource::find(checkpoint, lm::rowsOf(*op.getSource()),
                                         op.getType().isVectors() ? import::Unit::Numbers
                                                                  : import::Unit::Rows);
    assert(found && "rows that the checkpoint does not hold were refused at import");
    source = std::make_shared<const import::RowSource>(std::move(*found));
  }

  Result<void> vector(std::span<std::byte> out) const {
    if (auto finite = source->checkFinite(); !finite)
      return finite;
    if (auto packed = packVector(*source, out); !packed)
      return packed;
    return checkPackedVector(*source, out, name);
  }
  template <typename Layout>
  Result<void> units(const Layout &layout, int64_t first, std::span<std::byte> out) const {
    if (first == 0) {
      // Jobs run roughly in the order of weights, so pages read for earlier weights are no longer needed.
      checkpoint->forgetPages();
      if (auto finite = source->checkFinite(); !finite)
        return finite;
    }
    constexpr auto pack = unitsOf<Layout>(packPanels, packFragments);
    if (auto packed = pack(*source, layout, first, out); !packed)
      return packed;
    return checkPacked(*source, layout, first, out, name);
  }

private:
  const import::Checkpoint *checkpoint;
  std::string name;
  std::shared_ptr<const import::RowSource> source; ///< shared by the weight's jobs
};

/// Generates one weight as DummyWeights.h defines it.
struct SeedRows {
  uint64_t seed, tensor;
  int64_t rows;

  Result<void> vector(std::span<std::byte> out) const {
    fillSeedVector(rows, out);
    return {};
  }
  template <typename Layout>
  Result<void> units(const Layout &layout, int64_t first, std::span<std::byte> out) const {
    unitsOf<Layout>(fillSeedPanels, fillSeedFragments)(seed, tensor, layout, first, out);
    return {};
  }
};

} // namespace

/// Adds the jobs of one weight. The jobs outlive this function, so each holds a copy of `rows`.
template <typename Rows>
static void addJobs(std::vector<FillJob> &jobs, const fb::WeightT &weight, lm::WeightType type,
                    const Rows &rows) {
  auto addUnits = [&](auto layout, int64_t units, int64_t unitBytes) {
    addPieces(jobs, weight.offset, units, unitBytes, [=](int64_t first, std::span<std::byte> out) {
      return rows.units(layout, first, out);
    });
  };
  if (type.isVector()) {
    jobs.push_back({weight.offset, weight.size,
                    [rows](std::span<std::byte> out) { return rows.vector(out); }});
  } else if (weight.layout == fb::WeightLayout::Fragment16) {
    FragmentLayout layout = kernel::fragmentLayoutOf(type);
    addUnits(layout, layout.tiles, layout.tileBytes());
  } else {
    PanelLayout layout = kernel::panelLayoutOf(type);
    addUnits(layout, layout.panels, layout.panelBytes());
  }
}

std::vector<FillJob> compiler::weightJobs(plan::ProgramOp program, const fb::ProgramT &table,
                                          const import::Checkpoint &checkpoint,
                                          std::optional<uint64_t> seed) {
  std::vector<FillJob> jobs;
  SymbolTable symbols(program);
  for (auto [number, entry] : llvm::enumerate(table.weights)) {
    const fb::WeightT &weight = *entry;
    auto op = symbols.lookup<plan::WeightOp>(weight.name);
    assert(op && "the table was made from this program");
    if (weight.source == fb::WeightSource::Seed)
      continue; // the device generates it
    if (op.getValuesAttr())
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
    else if (seed)
      addJobs(jobs, weight, op.getType(), SeedRows{*seed, number, op.getType().rows()});
    else
      addJobs(jobs, weight, op.getType(), CheckpointRows(op, checkpoint));
  }
  return jobs;
}
