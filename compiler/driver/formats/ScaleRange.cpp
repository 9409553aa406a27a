//===- ScaleRange.cpp - The largest value of each matrix ------------------===//
#include "compiler/driver/formats/ScaleRange.h"
#include "compiler/import/checkpoint/RowSource.h"
#include "compiler/import/error/ImportErrors.h"
#include "dialects/lm/ops/Model.h"
#include "dialects/lm/ops/Weights.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

constexpr double kLargestScale = 65504;
/// The smallest scale allowed for the group with a matrix's largest value: 64 of f16's smallest steps. If the values of
/// another group are a sixteenth as large, the scale of that group is still accurate to an eighth.
constexpr double kLeastScale = 0x1p-18;

namespace {
struct Candidate {
  lm::WeightOp weight;
  import::RowSource source;
  int bits;          ///< width of its future codes
  float largest = 0; ///< largest magnitude
};
} // namespace

/// Returns the format that lm-quantize-weights will choose.
static std::optional<WeightFormat> chosenFormat(lm::WeightOp weight, bool insideLayer,
                                                const CompileOptions &options) {
  for (const std::string &rule : options.recipe) {
    auto [pattern, name] = StringRef(rule).rsplit(':');
    if (auto glob = llvm::GlobPattern::create(pattern); glob && glob->match(weight.getSymName()))
      return weightFormatNamed(std::string_view(name.data(), name.size()));
  }
  if (options.quantize.empty() || !weight.getType().numeric().isFloat())
    return std::nullopt;
  return insideLayer ? weightFormatNamed(options.quantize) : WeightFormat::Int8;
}

static Result<float> largestMagnitude(const import::RowSource &source) {
  constexpr int64_t kAtOnce = 32;
  std::vector<float> rows(static_cast<size_t>(kAtOnce * source.columns()));
  float largest = 0;
  for (int64_t n = 0; n < source.rows(); n += kAtOnce) {
    const int64_t count = std::min(kAtOnce, source.rows() - n);
    auto some = std::span(rows).first(static_cast<size_t>(count * source.columns()));
    if (auto read = source.read(n, some); !read)
      return read.error();
    for (float value : some)
      largest = std::max(largest, std::abs(value));
  }
  return largest;
}

static std::string reason(const Candidate &matrix) {
  const double largest = matrix.largest, scale = largest / (matrix.bits == 8 ? 127 : 8);
  if (scale > kLargestScale)
    return import::line("its largest value, ", largest, ", needs a scale of ", scale,
                        ", but the largest f16 is 65504");
  if (largest != 0 && scale < kLeastScale)
    return import::line("its largest value, ", largest, ", needs scales below ", kLeastScale,
                        ", where f16 loses precision");
  return "";
}

Result<std::vector<OutOfRange>> compiler::matricesOutOfRange(lm::ModelOp model,
                                                             const import::Checkpoint &checkpoint,
                                                             const CompileOptions &options,
                                                             int threads) {
  llvm::StringSet<> outside;
  model.walk([&](lm::GetWeightOp get) { outside.insert(get.getWeight()); });
  std::vector<Candidate> candidates;
  for (lm::WeightOp weight : model.getBody().getOps<lm::WeightOp>()) {
    if (weight.getType().isVectors() || !weight.getSource())
      continue;
    auto format = chosenFormat(weight, !outside.contains(weight.getSymName()), options);
    if (!format || *format == weight.getType().getFormat() ||
        !numericFormat(*format).hasIntegerCodes())
      continue;
    if (auto source = import::RowSource::find(checkpoint, lm::rowsOf(*weight.getSource())))
      candidates.push_back({weight, std::move(*source), numericFormat(*format).bits});
  }

  std::atomic<size_t> next = 0;
  std::mutex lock;
  std::optional<Error> failure;
  auto work = [&] {
    for (size_t i; (i = next++) < candidates.size();) {
      Candidate &matrix = candidates[i];
      auto largest = largestMagnitude(matrix.source);
      std::lock_guard guard(lock);
      if (largest)
        matrix.largest = *largest;
      else if (!failure)
        failure = largest.error();
    }
  };
  std::vector<std::thread> workers;
  for (int i = 1; i < std::min<int>(threads, static_cast<int>(candidates.size())); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  if (failure)
    return *failure;

  std::vector<OutOfRange> found;
  for (Candidate &matrix : candidates)
    if (std::string why = reason(matrix); !why.empty())
      found.push_back({matrix.weight.getSymName().str(), std::move(why)});
  return found;
}
