//===- Tune.cpp - See Tune.h ----------------------------------------------===//
#include "compiler/targets/cpu/Tune.h"
#include "codegen/cpu/CpuCodegen.h"
#include "codegen/cpu/schedule/MatmulCost.h"
#include "codegen/cpu/schedule/MatmulSchedule.h"
#include "codegen/cpu/schedule/TuningRows.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/targets/cpu/HostCpu.h"
#include "compiler/targets/cpu/LoadedCode.h"
#include "dialects/kernel/ops/Ids.h"
#include "dialects/kernel/ops/Matmul.h"
#include "dialects/kernel/ops/Structure.h"
#include "runtime/abi/KernelAbi.h"
#include "runtime/engine/Isa.h"
#include "runtime/formats/SeedWeights.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using kernel::RowKind;
using kernel::ScheduleAttr;

namespace {

constexpr int64_t kMostTokens = 512;
constexpr int64_t kCallBytes = 16 << 20;  ///< bytes of weights that one call reads
constexpr double kCallOperations = 2e9;   ///< operations of a call of many tokens: a few
                                          ///< milliseconds
constexpr int64_t kEvictBytes = 64 << 20; ///< more than a last-level cache keeps for one core
constexpr double kWins = 0.98, kLoses = 1.03;
constexpr int kLeastRounds = 3, kMostRounds = 40;

double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}
double wallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Free {
  void operator()(char *p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;
Memory allocate(size_t bytes) {
  return Memory(
      static_cast<char *>(std::aligned_alloc(64, roundUp(std::max<int64_t>(bytes, 64), 64))));
}

/// Fills rows with typical activations: no NaN or infinities, and no subnormals, which would be slow.
void fillRows(char *rows, kernel::RowsType type) {
  std::mt19937 random(1);
  std::memset(rows, 0, kMostTokens * type.rowBytes());
  if (type.getKind() != RowKind::F32 && type.getKind() != RowKind::Q8 &&
      type.getKind() != RowKind::Q8x2)
    return; // contents do not matter here
  auto floats = [&](char *at, int64_t count, float scale) {
    for (int64_t i = 0; i < count; ++i) {
      float value = (float(random() % 2001) / 1000 - 1) * scale;
      std::memcpy(at + 4 * i, &value, 4);
    }
  };
  for (int64_t t = 0; t < kMostTokens; ++t, rows += type.rowBytes()) {
    if (type.getKind() == RowKind::F32) {
      floats(rows, type.rowBytes() / 4, 1);
      continue;
    }
    Q8Row row = q8Row(type.getN());
    for (int64_t plane = 0; plane * row.bytes < type.rowBytes(); ++plane) {
      char *at = rows + plane * row.bytes;
      for (int64_t k = 0; k < type.getN(); ++k)
        at[k] = char(int(random() % 255) - 127);
      floats(at + row.scaleOffset, 2 * row.groups, 0.01f);
    }
  }
}

/// Operands of one kernel, with generated contents.
class Operands {
public:
  explicit Operands(kernel::FuncOp fn) {
    uint64_t tensor = 0;
    for (Type type : fn.getArgumentTypes()) {
      if (auto rows = dyn_cast<kernel::RowsType>(type)) {
        memory.push_back(allocate(kMostTokens * rows.rowBytes()));
        fillRows(memory.back().get(), rows);
      } else {
        auto weight = cast<lm::WeightType>(type);
        size_t bytes = kernel::packedBytes(weight);
        memory.push_back(allocate(bytes));
        std::memset(memory.back().get(), 0, bytes);
        std::span<std::byte> out(reinterpret_cast<std::byte *>(memory.back().get()), bytes);
        if (weight.isVector())
          fillSeedVector(weight.rows(), out);
        else
          fillSeedPanels(1, tensor, kernel::panelLayoutOf(weight), 0, out);
        ++tensor;
      }
      pointers.push_back(memory.back().get());
    }
  }
  void *const *args() const { return pointers.data(); }

private:
  std::vector<Memory> memory;
  std::vector<void *> pointers;
};

/// A schedule, its code and its measurements.
struct Candidate {
  ScheduleAttr schedule;
  cpu::KernelFn code = nullptr;
  std::map<int64_t, std::vector<double>> samples; ///< seconds by tokens

  double median(int64_t tokens) {
    std::vector<double> &all = samples[tokens];
    std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
    return all[all.size() / 2];
  }
};

class Tuner {
public:
  Tuner(const cpu::Isa &isa, int threads)
      : isa(isa), threads(threads), evicted(allocate(kEvictBytes)) {
    std::memset(evicted.get(), 1, kEvictBytes);
  }

  /// Memory bandwidth of one thread in GB/s of wall time: the median of five passes over more than a cache
  /// holds.
  double readGbPerS() {
    double seconds[5];
    for (double &one : seconds) {
      double start = wallSeconds();
      evict();
      one = wallSeconds() - start;
    }
    std::nth_element(std::begin(seconds), seconds + 2, std::end(seconds));
    return kEvictBytes / seconds[2] / 1e9;
  }

  /// The tuning row of the kernel if a schedule beats the model's; takes about `seconds`.
  Result<std::optional<cpu::TuningRow>> tune(kernel::FuncOp fn, double seconds) {
    auto op = cast<kernel::MatmulOp>(fn.anchor());
    Operands operands(fn);
    std::vector<Candidate> candidates = neighbours(op);
    if (auto ok = race(fn, operands, candidates, seconds * 2 / 3); !ok)
      return ok.error();
    std::vector<Candidate> last(1);
    last[0].schedule = candidates[0].schedule;
    ScheduleAttr challenger = combine(candidates);
    if (challenger == last[0].schedule)
      return std::optional<cpu::TuningRow>();
    last.emplace_back().schedule = challenger;
    if (auto ok = race(fn, operands, last, seconds / 3); !ok)
      return ok.error();
    bool wins = relative(last[1], last[0]) < kWins;
    for (int64_t tokens : tokensOf(op))
      wins &= last[1].median(tokens) < kLoses * last[0].median(tokens);
    if (!wins)
      return std::optional<cpu::TuningRow>();
    return std::optional(rowOf(op, last));
  }

private:
  /// Token counts that this kernel may see; logits are requested for few tokens.
  static std::vector<int64_t> tokensOf(kernel::MatmulOp op) {
    std::vector<int64_t> tokens(std::begin(cpu::kModelTokens), std::end(cpu::kModelTokens));
    if (op.getExtent() == kernel::Extent::Rows)
      llvm::erase_if(tokens, [](int64_t t) { return t > 32; });
    return tokens;
  }

  /// The model's choice, then the schedules that differ from it in one parameter.
  std::vector<Candidate> neighbours(kernel::MatmulOp op) const {
    std::vector<Candidate> candidates(1);
    ScheduleAttr model = cpu::matmulSchedule(op, isa);
    candidates[0].schedule = model;
    for (ScheduleAttr other : cpu::scheduleCandidates(op, isa)) {
      int tiles = other.getTokenTiles() != model.getTokenTiles();
      int prefetch = other.getPrefetch() != model.getPrefetch();
      // The block follows the tiles: it is a multiple of the first.
      int64_t front = model.getTokenTiles().front();
      bool sameBlock =
          other.getTokenBlock() / front == model.getTokenBlock() / front ||
          std::abs(other.getTokenBlock() - model.getTokenBlock()) < other.getTokenTiles().front();
      bool known =
          llvm::any_of(candidates, [&](const Candidate &c) { return c.schedule == other; });
      if (tiles + prefetch + !sameBlock == 1 && !known)
        candidates.emplace_back().schedule = other;
    }
    return candidates;
  }

  Result<void> race(kernel::FuncOp fn, const Operands &operands, std::vector<Candidate> &candidates,
                    double seconds) {
    std::vector<OwningOpRef<kernel::FuncOp>> owned;
    SmallVector<kernel::FuncOp> kernels;
    int64_t scratchBytes = 64;
    for (auto [i, candidate] : llvm::enumerate(candidates)) {
      kernel::FuncOp copy = fn.clone();
      owned.emplace_back(copy);
      copy.setSymName("candidate_" + std::to_string(i));
      cast<kernel::MatmulOp>(copy.anchor()).setScheduleAttr(candidate.schedule);
      scratchBytes = std::max(scratchBytes, cpu::scratchBytes(copy));
      kernels.push_back(copy);
    }
    auto image = cpu::compileKernels(kernels, isa, {static_cast<unsigned>(threads)});
    if (failed(image))
      return Error{ExitCode::Internal, "E0490",
                   "kernel " + fn.getSymName().str() + " has no code at " + std::string(isa.name),
                   "", "this is a bug in ingot: please report it with the checkpoint's config"};
    auto code = LoadedCode::load({image->data(), image->size()});
    if (!code)
      return code.error();
    for (auto [i, candidate] : llvm::enumerate(candidates))
      candidate.code = code->function("candidate_" + std::to_string(i));
    Memory scratch = allocate(scratchBytes);
    auto op = cast<kernel::MatmulOp>(fn.anchor());
    double end = wallSeconds() + seconds;
    for (int round = 0; round < kLeastRounds || (round < kMostRounds && wallSeconds() < end);
         ++round)
      for (int64_t tokens : tokensOf(op))
        for (size_t i = 0; i < candidates.size(); ++i) {
          Candidate &candidate = candidates[(i + round) % candidates.size()];
          candidate.samples[tokens].push_back(call(op, candidate, operands, tokens, scratch.get()));
        }
    return {};
  }

  /// Seconds for all panels, extrapolated from a call of some of them.
  double call(kernel::MatmulOp op, const Candidate &candidate, const Operands &operands,
              int64_t tokens, char *scratch) {
    const int64_t items = op.workItems().factor;
    int64_t bytes = 0;
    for (Type type : op.getWeights().getTypes())
      bytes += kernel::packedBytes(cast<lm::WeightType>(type));
    double byOperations = kCallOperations / (double(op.operationsPerUnit()) / items * tokens);
    int64_t called =
        std::clamp<int64_t>(std::min<double>(kCallBytes / (bytes / items), byOperations), 1, items);
    BatchView batch{};
    batch.tokens = batch.rows = tokens;
    evict();
    double start = threadSeconds();
    candidate.code(operands.args(), &batch, 0, items / called * called, items / called, scratch, 0);
    return (threadSeconds() - start) * double(items) / double(called);
  }

  void evict() {
    for (int64_t i = 0; i < kEvictBytes; i += 64)
      sink = sink + evicted.get()[i];
  }

  /// The mean over token counts of the ratio of this candidate's time to the other's.
  static double relative(Candidate &candidate, Candidate &other) {
    double sum = 0;
    for (auto &[tokens, samples] : candidate.samples)
      sum += candidate.median(tokens) / other.median(tokens);
    return sum / double(candidate.samples.size());
  }

  /// Combines, for each parameter, the value that beats the model.
  static ScheduleAttr combine(std::vector<Candidate> &candidates) {
    ScheduleAttr model = candidates[0].schedule, best[3] = {model, model, model};
    double least[3] = {0.995, 0.995, 0.995};
    for (Candidate &candidate : llvm::drop_begin(candidates)) {
      ScheduleAttr s = candidate.schedule;
      int thing = s.getTokenTiles() != model.getTokenTiles()   ? 0
                  : s.getTokenBlock() != model.getTokenBlock() ? 1
                                                               : 2;
      if (double figure = relative(candidate, candidates[0]); figure < least[thing])
        least[thing] = figure, best[thing] = s;
    }
    int64_t front = best[0].getTokenTiles().front();
    int64_t block = std::max(best[1].getTokenBlock() / front * front, front);
    return ScheduleAttr::get(model.getContext(), best[0].getTokenTiles(), block,
                             best[2].getPrefetch());
  }

  cpu::TuningRow rowOf(kernel::MatmulOp op, std::vector<Candidate> &pair) const {
    cpu::TuningRow row;
    row.level = isa.name;
    row.shape = cpu::shapeOf(op);
    ScheduleAttr schedule = pair[1].schedule;
    row.tiles.assign(schedule.getTokenTiles().begin(), schedule.getTokenTiles().end());
    row.block = schedule.getTokenBlock(), row.prefetch = schedule.getPrefetch();
    for (int64_t tokens : tokensOf(op)) {
      row.measured.emplace_back(tokens, pair[1].median(tokens) * 1e6);
      row.model.emplace_back(tokens, pair[0].median(tokens) * 1e6);
    }
    return row;
  }

  const cpu::Isa &isa;
  const int threads;
  Memory evicted;
  volatile char sink = 0;
};

/// Why the rows of this run may be unreliable, or "". Thread time excludes the run time of other processes,
/// but not their use of caches and memory.
std::string busyNote(double readBefore, double readAfter, double load) {
  constexpr double kSteady = 0.75;
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  bool apart = std::min(readBefore, readAfter) < kSteady * std::max(readBefore, readAfter);
  if (!apart && load <= 0.5 * processors)
    return "";
  return llvm::formatv(
      "the machine is busy (a thread reads {0:F1} GB/s before and {1:F1} after, a load of {2:F1} "
      "on {3} processors): these rows may be wrong; stop other programs and tune again",
      readBefore, readAfter, load, processors);
}

} // namespace

Result<void> compiler::tune(ArrayRef<kernel::FuncOp> kernels, const CompileOptions &options,
                            int threads, Progress &progress) {
  progress.phase("tune");
  const cpu::Isa &isa = *cpu::isaNamed(options.targets.front());
  runtime::CpuFeatures host = runtime::hostCpu();
  if (!host.has(*runtime::isaNamed(isa.name)))
    return Error{ExitCode::File, "E0446", "this machine cannot run " + std::string(isa.name),
                 host.name + " has " + host.names(),
                 "tune on the machine that will run the engine, or give --isa avx2"};
  cpu::TuningTable table;
  table.cpu = hostCpuName();
  std::vector<kernel::FuncOp> problems;
  std::vector<cpu::MatmulShape> shapes;
  for (kernel::FuncOp fn : kernels)
    if (auto op = dyn_cast<kernel::MatmulOp>(fn.anchor());
        op && !op.getRoutes() && llvm::none_of(fn.ops(), llvm::IsaPred<kernel::ArgmaxOp>)) {
      cpu::MatmulShape shape = cpu::shapeOf(op);
      if (!llvm::is_contained(shapes, shape))
        shapes.push_back(shape), problems.push_back(fn);
    }
  double load = 0;
  getloadavg(&load, 1);
  Tuner tuner(isa, threads);
  const double readBefore = tuner.readGbPerS();
  double end = wallSeconds() + options.tuneSeconds;
  for (auto [i, fn] : llvm::enumerate(problems)) {
    auto row = tuner.tune(fn, (end - wallSeconds()) / double(problems.size() - i));
    if (!row)
      return row.error();
    if (!options.quiet)
      llvm::errs() << shapes[i].text() << ": "
                   << (*row ? "a row, " + std::to_string((*row)->measured.front().second) + " us"
                            : "the model's choice stays")
                   << "\n";
    if (*row)
      table.rows.push_back(std::move(**row));
    progress.update(i + 1, problems.size());
  }
  const double readAfter = tuner.readGbPerS();
  if (std::string busy = busyNote(readBefore, readAfter, load); !busy.empty() && !options.quiet)
    llvm::errs() << "warning: " << busy << "\n";
  progress.note(std::to_string(table.rows.size()) + " rows for " + std::to_string(problems.size()) +
                " shapes");
  progress.finish();
  return writeText(table.text(), options.output);
}
