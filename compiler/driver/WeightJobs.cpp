//===- WeightJobs.cpp - Pack weights piece by piece -----------------------===//
//
// A job packs a few panels of one weight: small enough that threads share the work
// evenly and that memory stays at threads * a few MiB.
//===----------------------------------------------------------------------===//
#include "compiler/driver/EngineTable.h"
#include "compiler/import/Dequantize.h"
#include "compiler/pack/Pack.h"

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

//===----------------------------------------------------------------------===//
// Random weights
//===----------------------------------------------------------------------===//

/// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): value i of
/// stream s is a function of (s, i) alone, so pieces can be made in any order.
static uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// About normal with deviation 0.02: the sum of four 16-bit uniforms.
static float randomWeight(uint64_t stream, uint64_t i) {
  uint64_t bits = mix(stream ^ mix(i));
  int64_t sum = 0;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<int64_t>((bits >> (16 * part)) & 0xffff) - 32768;
  return static_cast<float>(sum) * (0.02f / 37837.0f); // deviation of the sum: 2 * 65536 / sqrt(12)
}

std::vector<FillJob> compiler::randomWeightJobs(plan::ProgramOp program, const fb::EngineT &table, uint64_t seed) {
  std::vector<FillJob> jobs;
  auto entry = table.weights.begin();
  uint64_t number = 0;
  for (plan::WeightOp op : program.getBody().getOps<plan::WeightOp>()) {
    const fb::WeightT &weight = **entry++;
    uint64_t stream = mix(seed ^ mix(number++));
    if (op.getValuesAttr()) {
      jobs.push_back(valuesJob(weight, op.getValuesAttr()));
      continue;
    }
    if (op.getType().isVector()) {
      jobs.push_back({weight.offset, weight.size, [n = op.getType().rows()](std::span<std::byte> out) -> Result<void> {
                        std::vector<float> ones(n, 1.0f);
                        std::memcpy(out.data(), ones.data(), n * sizeof(float));
                        return {};
                      }});
      continue;
    }
    PanelLayout layout = panelLayout(op.getType().getFormat(), op.getType().rows(), op.getType().columns());
    forPieces(layout, [&](int64_t first, int64_t panels) {
      jobs.push_back({weight.offset + first * layout.panelBytes(), static_cast<uint64_t>(panels * layout.panelBytes()),
                      [layout, first, panels, stream](std::span<std::byte> out) -> Result<void> {
                        int64_t rows = std::min(panels * kPanelRows, layout.n - first * kPanelRows);
                        std::vector<float> values(rows * layout.k);
                        for (size_t i = 0; i < values.size(); ++i)
                          values[i] = randomWeight(stream, first * kPanelRows * layout.k + i);
                        import::Tensor tensor{"random", WeightFormat::F32, {rows, layout.k}, std::as_bytes(std::span(values))};
                        PanelLayout piece = panelLayout(layout.format, rows, layout.k);
                        return packPanels(tensor, piece, 0, out);
                      }});
    });
  }
  return jobs;
}
