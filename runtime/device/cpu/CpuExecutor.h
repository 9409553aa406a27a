//===- CpuExecutor.h - An engine's program, ready to run on this CPU ------===//
//
// The entry point of a program is a list of sections to run, one after the other. A section is a list of
// launches; each launch is a kernel with operands named by index. Creating the executor resolves all of
// that once:
//
//   sections x specialisations  flat array of launches; a step skips launches of specialisations that it does not use
//   [layer 3, section @local] -> { fn, args -> [0x7f..a40, 0x7f..c00, ...],
//                                  count from tokens|rows|tiles, partition, barrier }
//
// A step is then one loop over that array (StepLoop.h): compute this thread's part of the items,
// call the function, wait where the launch requires it. A launch without items is skipped. Nothing
// is allocated, looked up or locked.
//
// Weights are in the mapped file, or in memory that is filled from the engine's seed when the executor is created
// (FillDummyWeights.h). The pages of the mapped file are read in while the first step begins (Prefault.h).
//
// Buffer addresses: each class of buffer has an arena of `bytes per unit * limit`. A buffer starts
// at arena + offset * limit, and its row r starts per_unit * r bytes later.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/KernelAbi.h"
#include "runtime/device/Executor.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/device/cpu/Prefault.h"
#include "runtime/device/cpu/StepLoop.h"
#include "runtime/engine/CodeImage.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Isa.h"

#include <memory>
#include <optional>
#include <vector>

namespace ingot::cpu {

class CpuExecutor final : public runtime::Executor, private runtime::PageMover {
public:
  /// Maps the code, allocates all memory, generates weights from the seed, and locks memory if
  /// limits.lock is set. Errors: E0381 … E0385 (no code for this CPU), E0386, E0502 (the memory
  /// plan exceeds `allowedBytes`, exit code 3), E0507, E0509 (the system does not lock that much,
  /// exit code 3), E0702 (exit code 3), E0701 (exit code 4). allowedBytes 0: all memory that the
  /// machine has available.
  static Result<std::unique_ptr<CpuExecutor>>
  create(std::shared_ptr<runtime::EngineFile> engine, const runtime::MemoryLimits &limits,
         std::optional<runtime::IsaLevel> isa = std::nullopt, uint64_t allowedBytes = 0);

  Result<void> step(const BatchView &batch) override { return run(batch, fb::Mode::Logits); }
  /// Supports greedy tokens only, which the kernel of the head finds.
  bool draws(const RowSampling &row) const override { return keys && row.scale == 0.0; }
  int64_t mostDrawnRows() const override { return kGreedyRows; }
  /// Runs the step to completion.
  Result<void> beginSampled(const BatchView &batch) override;
  Result<std::span<const int32_t>> endSampled() override { return std::span<const int32_t>(ids); }

  runtime::PageMover *pageMover() override { return this; }

  const float *logits() const override { return logitsRows; }
  int64_t logitsStride() const override { return logitsRowStride; }
  const float *maxima() const override { return maximaRows; }
  int64_t maximaStride() const override { return maximaRowStride; }

  int64_t hiddenSize() const override;
  void hiddenState(int64_t row, float *out) const override;

  bool takeKvMemory(std::span<const int64_t> pages) override;

  const runtime::EngineFile &engine() const { return *file; }
  const runtime::MemoryPlan &memory() const override { return memoryPlan; }
  int threads() const override { return loop->threads(); }
  const fb::Program &program() const override { return *plan; }
  const fb::Model &model() const override { return *file->table().model(); }
  std::string_view target() const override { return targetName; }
  std::string device() const override;
  int64_t readAhead(size_t kernel) const override;
  size_t launches() const { return resolved.size(); }
  /// Returns the address of row 0 of a buffer of the table, for tests and numeric debugging.
  const void *buffer(size_t index) const { return bufferAddress(index); }

  std::unique_ptr<runtime::KernelBench> kernelBench() override;

  void startTrace(bool keepEvents) override;
  void stopTrace() override { tracing.reset(); }
  const runtime::Trace *trace() const override { return tracing.get(); }

private:
  friend class KernelBench;

  CpuExecutor() = default;
  Result<void> allocate();
  /// Starts prefaulting the weights in the file, if memory suffices, and locks all memory if
  /// requested.
  Result<void> bringWeights(uint64_t allowed);
  void resolve();
  void resolveLaunch(const fb::Launch &launch, const fb::Step &step, uint64_t cases);
  /// Returns the bit of a specialisation, and the bits of all specialisations that a step runs (StepLoop.h).
  uint64_t bitOf(const fb::Section &section, const fb::Case &one) const;
  uint64_t casesOf(fb::Mode mode, const BatchView &batch) const;
  Result<void> run(const BatchView &batch, fb::Mode mode);
  std::byte *bufferAddress(size_t index) const;
  std::byte *operandAddress(const fb::Arg &arg, const fb::Step &step) const;

  // PageMover
  uint64_t pageBytes(size_t group) const override;
  void copy(size_t group, int32_t from, int32_t to) override;
  void save(size_t group, int32_t page, std::byte *to) override;
  void load(size_t group, const std::byte *from, int32_t page) override;
  std::byte *stateAddress(size_t state) const;
  template <typename Move> void forStates(size_t group, int32_t page, Move move) const;

  std::shared_ptr<runtime::EngineFile> file;
  const fb::Program *plan = nullptr;
  std::shared_ptr<runtime::CodeImage> code;
  std::string targetName;
  runtime::MemoryPlan memoryPlan;

  HostMemory seeded; ///< weights generated from the seed
  HostMemory fixedArena, tokenArena, rowArena, kv, slots, scratch;
  std::optional<Prefault> prefault; ///< of weights in the file
  std::vector<uint64_t> kvOffset; ///< offset of each state's pages in `kv`, or of its snapshots in
                                  ///< `slots`
  std::vector<uint64_t> kvTaken;  ///< bytes at the start of each state's pages that the system has
                                  ///< been asked to commit
  std::vector<BatchView> views;   ///< of the step, one for each group of states
  uint64_t scratchStride = 0;     ///< bytes between the scratch areas of two threads

  std::vector<void *> operands; ///< of all launches, consecutively
  std::vector<ResolvedLaunch> resolved;
  const float *logitsRows = nullptr;
  int64_t logitsRowStride = 0;
  const float *maximaRows = nullptr;
  int64_t maximaRowStride = 0;
  uint64_t *keys = nullptr; ///< [rows], for greedy steps; null if the engine has none
  const fb::Output *hidden = nullptr;
  std::vector<int32_t> ids; ///< found by the last greedy step

  std::unique_ptr<runtime::Trace> tracing;
  std::unique_ptr<StepLoop> loop; ///< last: its threads must end before the other members are
                                  ///< destroyed
};

} // namespace ingot::cpu
