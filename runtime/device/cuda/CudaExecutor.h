//===- CudaExecutor.h - An engine's program, ready to run on a GPU --------===//
//
// Creating an executor picks the code for the GPU, allocates all memory, uploads the weights and resolves
// the program to a flat list of launches with the addresses of their operands. A step is
//
//   pack the batch --1 copy--> [ graph of the bucket ]        decode: one token a sequence
//                              [ launch, launch, …   ]        everything else
//                  <--1 copy-- logits rows, or ids
//
// Graphs are built node by node, never captured from a stream. A graph is built while the session is
// idle, or when a step first needs its bucket. In a graph, a launch waits for all launches of the
// group before its own (groups end at barriers). If a kernel and its predecessor both support
// programmatic launch, the edge is programmatic and the kernel's prologue overlaps the predecessor's
// end. A step allocates nothing but its graph.
//
// The memory layout is the same as on the CPU (cpu/CpuExecutor.h): each class of buffer has an arena
// of `bytes per unit * limit`, with a buffer at arena + offset * limit; each state has a pool.
//
// The last section has specialisations that turn logits into ids: one finds the ids of the largest
// logits, another samples (BatchView::sampling). If one of them covers all rows of a step, only tokens
// are copied back. The tokens also stay on the device for the next step, which is queued before the host
// has seen them. Two steps may be in flight, each with its own page-locked memory for its batch and
// its tokens. If the device cannot sample a row, the caller runs a step for logits and samples on the
// host.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Executor.h"
#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/device/cuda/PickCode.h"
#include "runtime/device/cuda/StepShape.h"
#include "runtime/device/cuda/WeightUpload.h"
#include "runtime/engine/EngineFile.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace ingot::cuda {

struct ExecutorOptions {
  bool emulated = false;     ///< the driver is the emulator's
  uint64_t allowedBytes = 0; ///< of device memory; 0: all that is free
  GpuOptions gpu;
};

class CudaExecutor final : public runtime::Executor, private runtime::PageMover {
public:
  /// Waits for work in flight, since copies read and write memory that is about to be freed. May
  /// run on any thread. If the device fails while waiting, the page-locked memory is leaked.
  ~CudaExecutor() override;
  /// `limits.reserved` is set from the driver. Errors, exit code 4: E0714 no code for the GPU;
  /// E0715 the memory plan exceeds the device's free memory (checked before any allocation); E0716
  /// … E0719, E0724, and E0386.
  static Result<std::unique_ptr<CudaExecutor>> create(std::unique_ptr<Driver> driver,
                                                      std::shared_ptr<runtime::EngineFile> engine,
                                                      runtime::MemoryLimits limits,
                                                      const ExecutorOptions &options = {});

  Result<void> step(const BatchView &batch) override;
  bool draws(const RowSampling &row) const override {
    return runtime::hasMode(entry(), row.scale == 0.0 ? Mode::Greedy : Mode::Drawn);
  }
  bool runsAhead() const override { return runtime::hasMode(entry(), Mode::Greedy) && !tracing; }
  /// Builds the next graph that no step has needed so far.
  bool prepareAhead() override;
  Result<void> beginSampled(const BatchView &batch) override;
  Result<std::span<const int32_t>> endSampled() override;

  runtime::PageMover *pageMover() override { return this; }

  const float *logits() const override { return reinterpret_cast<float *>(logitsRows.data()); }
  int64_t logitsStride() const override { return logitsRowStride; }
  const runtime::MemoryPlan &memory() const override { return memoryPlan; }
  const fb::Program &program() const override { return *picked.program; }
  const fb::Model &model() const override { return *file->table().model(); }
  std::string_view target() const override { return picked.code->target()->string_view(); }
  std::string device() const override { return driver->device().name; }
  std::string remark() const override { return picked.remark; }
  int threads() const override { return 1; }

  std::unique_ptr<runtime::KernelBench> kernelBench() override;

  void startTrace(bool keepEvents) override;
  void stopTrace() override { tracing.reset(); }
  const runtime::Trace *trace() const override { return tracing.get(); }

  size_t graphs() const { return graphOfBucket.size(); } ///< graphs built so far
  /// Returns the address of row 0 of a buffer of the program, for tests and numeric debugging.
  Address buffer(size_t index) const { return bufferAddress(index); }

private:
  friend class KernelBench;

  using Mode = fb::Mode;

  struct PlannedLaunch {
    uint32_t kernel;
    int32_t layer;                        ///< -1: none
    std::vector<void *const *> arguments; ///< one per variant
    bool barrier;                         ///< ends a group
  };
  /// A specialisation of a section, as one step of the entry point runs it.
  struct PlannedCase {
    const fb::Section *section;
    const fb::Case *own;
    size_t first, end; ///< range in `launches`

    bool runsIn(const runtime::StepCounts &counts) const {
      return &runtime::caseFor(*section, counts) == own;
    }
  };

  /// Generates weights of one format from the seed.
  struct SeedFill {
    Kernel kernel;
    const fb::Variant *variant;
  };

  CudaExecutor() = default;
  Result<void> allocate();
  Result<void> uploadWeights();
  Result<void> makeWeights();
  Result<void> fillOnDevice(const fb::Weight &weight, const SeedFill &fill);
  Result<void> loadModules();
  void listGraphs();
  Result<void> checkGrids() const;
  Result<void> resolve();
  Result<void> resolveLaunch(const fb::Launch &launch, const fb::Step &step);
  const fb::Entry &entry() const { return runtime::generateEntry(*picked.program); }
  /// Returns the buffer of an output that the entry point has.
  size_t bufferOf(fb::OutputRole role) const { return runtime::outputOf(entry(), role)->buffer(); }
  Result<void *> tensorMapOf(const fb::TensorMap &map, const fb::Launch &launch);
  Address bufferAddress(size_t index) const;
  Address operandAddress(const fb::Arg &arg, const fb::Step &step) const;
  ChosenVariants variantsOf(const PlannedLaunch &planned, const StepShape &shape) const;
  GraphNode nodeOf(const PlannedLaunch &planned, uint32_t variant, const StepShape &shape) const;
  // PageMover: queued in the driver's queue after the steps in flight.
  uint64_t pageBytes(size_t group) const override;
  void copy(size_t group, int32_t from, int32_t to) override;
  void save(size_t group, int32_t page, std::byte *to) override;
  void load(size_t group, const std::byte *from, int32_t page) override;
  Address stateAddress(size_t state) const;
  /// Calls move(address, bytes) for each paged state of the group; for the last group, for each
  /// fixed state.
  template <typename Move> void forStates(size_t group, int32_t page, Move move);

  Result<void> prepareKeys(Mode mode, uint64_t rows);
  Result<void> queueStep(const BatchView &batch, Mode mode, std::byte *image);
  /// Returns the launches selected by `choice`, of a step with that shape.
  std::vector<GraphNode> nodesOf(const StepShape &shape, Mode mode,
                                 const runtime::KernelBench::Choice &choice = {}) const;
  Result<Graph> graphFor(uint64_t bucket, Mode mode);
  Result<void> launchAll(const StepShape &shape, Mode mode);
  Result<void> collectTimes(int64_t tokens);
  Result<void> copySegments(size_t launch, int64_t tokens);

  std::shared_ptr<runtime::EngineFile> file;
  std::unique_ptr<Driver>
      driver; ///< declared before the members that hold memory which it releases
  GpuOptions gpu;
  PickedCode picked{};
  runtime::MemoryPlan memoryPlan;

  std::map<uint32_t, DeviceMemory> segments; ///< weights, by segment of the file
  DeviceMemory seeded;                       ///< weights generated from the seed
  DeviceMemory fixedArena, tokenArena, rowArena, kv, slots, batchMemory;
  /// A step in flight for which token ids are requested.
  struct Flight {
    PinnedMemory batch, ids;
    Event done;
    size_t rows;
  };

  std::optional<WeightUpload> upload; ///< only during creation
  PinnedMemory logitsRows;
  Flight flights[2];               ///< step() uses the first one's batch
  size_t begun = 0, ended = 0;     ///< number of steps so far of beginSampled() and endSampled();
                                   ///< step i uses flights[i % 2]
  std::vector<uint64_t> kvOffset;  ///< offset of each state's pages in `kv`, or of its snapshots in
                                   ///< `slots`
  std::optional<Error> moveFailed; ///< reported by the next step

  std::vector<std::vector<Kernel>> functions;     ///< [kernel][variant]
  std::map<std::string_view, SeedFill> seedFills; ///< by format
  std::vector<Address> operands;                  ///< of all launches, consecutively
  std::vector<std::vector<void *>> arguments;     ///< pointers to the operands, as drivers expect
                                                  ///< them
  /// The tensor maps, which launches share. The key has all fields of TensorRows. The address alone is not enough,
  /// because buffers with disjoint lifetimes share an address and may differ in width.
  std::map<std::array<uint64_t, 7>, TensorMap> tensorMaps;
  std::vector<PlannedLaunch> launches; ///< of all specialisations of the steps' sections
  std::vector<PlannedCase> cases;      ///< consecutive
  AttentionSplitting sharing;
  std::map<std::pair<uint64_t, Mode>, Graph> graphOfBucket;
  std::vector<std::pair<uint64_t, Mode>> graphsToMake; ///< graphs to build when idle, last one
                                                       ///< first
  int64_t logitsRowStride = 0;
  bool keysRaised = false; ///< a step for logits has raised keys since they were last cleared

  std::unique_ptr<runtime::Trace> tracing;
  int64_t tracedTokens = 0;  ///< of the step in flight
  std::vector<Event> events; ///< one before each launch, and one at the end
  std::vector<bool> launched;
  /// A launch that groups routes. A trace counts its routes before another layer overwrites them.
  struct WatchedRoutes {
    Event grouped; ///< recorded before the copy, so that no launch is charged for the copy's time
    PinnedMemory segments;
  };
  std::map<size_t, WatchedRoutes> watched; ///< by launch
};

} // namespace ingot::cuda
