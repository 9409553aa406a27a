//===- Executor.h - An engine's program, ready to run on a GPU ---------------===//
//
// Creating it picks the code for the GPU, takes all memory, copies the weights over and
// resolves the program to a flat list of launches with their operands' addresses. A step is
//
//   pack the batch --1 copy--> [ graph of the bucket ]        decode: one token a sequence
//                              [ launch, launch, …   ]        everything else
//                  <--1 copy-- logits rows, or ids
//
// Graphs are made from the program's edges, while nobody asks or when a bucket is first met, never
// captured: a launch waits for all launches of the group before it (groups end at barriers). Where
// a kernel and the one before it know programmatic launch, the edge says so and the kernel's
// prologue overlaps the other's end. Nothing else is allocated in a step.
//
// Where things lie is as on the CPU (cpu/Executor.h): an arena per class of buffer,
// `bytes per unit * limit`, a buffer at arena + offset * limit; a pool per state.
//
// The last section has cases behind the logits: one finds the ids of the largest, another
// draws (BatchView::sampling). Where one of them does all rows of a step, ids come back alone. They
// also stay on the device, where the next step reads them: it is queued before the host has seen
// them. Each of the two steps that may be under way has page-locked memory of its own for its batch
// and its ids. What they cannot do is the caller's, from logits on the host.
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
  uint64_t allowedBytes = 0; ///< of device memory; 0: what is free
  GpuOptions gpu;
};

class Executor final : public runtime::Executor, private runtime::PageMover {
public:
  /// Waits for what is under way, since copies read and write memory that goes now. On any thread.
  /// Where the device fails in that, the page-locked memory stays as long as the process does.
  ~Executor() override;
  /// `limits.reserved` is the driver's. Errors, exit 4: E0714 no code for the GPU; E0715 the memory
  /// statement exceeds the device's free memory (before any is taken); E0716 … E0719, E0724, and
  /// E0386.
  static Result<std::unique_ptr<Executor>> create(std::unique_ptr<Driver> driver,
                                                  std::shared_ptr<runtime::EngineFile> engine,
                                                  runtime::MemoryLimits limits,
                                                  const ExecutorOptions &options = {});

  Result<void> step(const BatchView &batch) override;
  bool draws(const RowSampling &row) const override {
    return runtime::hasMode(entry(), row.scale == 0.0 ? Mode::Greedy : Mode::Drawn);
  }
  bool runsAhead() const override { return runtime::hasMode(entry(), Mode::Greedy) && !tracing; }
  /// Makes the next graph that no step has met so far.
  bool prepareAhead() override;
  Result<void> beginSampled(const BatchView &batch) override;
  Result<std::span<const int32_t>> endSampled() override;

  runtime::PageMover *pageMover() override { return this; }

  const float *logits() const override { return reinterpret_cast<float *>(logitsRows.data()); }
  int64_t logitsStride() const override { return logitsRowStride; }
  const runtime::MemoryStatement &memory() const override { return statement; }
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

  size_t graphs() const { return graphOfBucket.size(); } ///< made so far
  /// Address of row 0 of a buffer of the program: for tests and numeric debugging.
  Address buffer(size_t index) const { return bufferAddress(index); }

private:
  friend class KernelBench;

  using Mode = fb::Mode;

  struct PlannedLaunch {
    uint32_t kernel;
    int32_t layer;                        ///< -1: none
    std::vector<void *const *> arguments; ///< of each variant
    bool barrier;                         ///< ends a group
  };
  /// A case of a section, as one step of the entry runs it.
  struct PlannedCase {
    const fb::Section *section;
    const fb::Case *own;
    size_t first, end; ///< of `launches`

    bool runsIn(const runtime::StepCounts &counts) const {
      return &runtime::caseFor(*section, counts) == own;
    }
  };

  /// Makes weights of one format from the seed.
  struct SeedFill {
    Kernel kernel;
    const fb::Variant *variant;
  };

  Executor() = default;
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
  /// The buffer of an output that the entry has.
  size_t bufferOf(fb::OutputRole role) const { return runtime::outputOf(entry(), role)->buffer(); }
  Result<void *> tensorMapOf(const fb::TensorMap &map, const fb::Launch &launch);
  Address bufferAddress(size_t index) const;
  Address operandAddress(const fb::Arg &arg, const fb::Step &step) const;
  ChosenVariants variantsOf(const PlannedLaunch &planned, const StepShape &shape) const;
  GraphNode nodeOf(const PlannedLaunch &planned, uint32_t variant, const StepShape &shape) const;
  // PageMover, in the driver's queue: behind the steps under way.
  uint64_t pageBytes(size_t group) const override;
  void copy(size_t group, int32_t from, int32_t to) override;
  void save(size_t group, int32_t page, std::byte *to) override;
  void load(size_t group, const std::byte *from, int32_t page) override;
  Address stateAddress(size_t state) const;
  /// Calls move(address, bytes) for each paged state, or of the last group for each fixed one.
  template <typename Move> void forStates(size_t group, int32_t page, Move move);

  Result<void> prepareKeys(Mode mode, uint64_t rows);
  Result<void> queueStep(const BatchView &batch, Mode mode, std::byte *image);
  /// Those launches of a step of that shape that `choice` has.
  std::vector<GraphNode> nodesOf(const StepShape &shape, Mode mode,
                                 const runtime::KernelBench::Choice &choice = {}) const;
  Result<Graph> graphFor(uint64_t bucket, Mode mode);
  Result<void> launchAll(const StepShape &shape, Mode mode);
  Result<void> collectTimes(int64_t tokens);
  Result<void> copySegments(size_t launch, int64_t tokens);

  std::shared_ptr<runtime::EngineFile> file;
  std::unique_ptr<Driver> driver; ///< before all that is given back to it
  GpuOptions gpu;
  PickedCode picked{};
  runtime::MemoryStatement statement;

  std::map<uint32_t, DeviceMemory> segments; ///< weights, by segment of the file
  DeviceMemory seeded;                       ///< weights made from the seed
  DeviceMemory fixedArena, tokenArena, rowArena, kv, slots, batchMemory;
  /// A step under way whose ids are wanted.
  struct Flight {
    PinnedMemory batch, ids;
    Event done;
    size_t rows;
  };

  std::optional<WeightUpload> upload; ///< while it is created
  PinnedMemory logitsRows;
  Flight flights[2];               ///< step() uses the first's batch
  size_t begun = 0, ended = 0;     ///< steps whose ids are wanted; step i is flights[i % 2]
  std::vector<uint64_t> kvOffset;  ///< of each state's pages in `kv`, or of its versions in `slots`
  std::optional<Error> moveFailed; ///< the next step says so

  std::vector<std::vector<Kernel>> functions;     ///< [kernel][variant]
  std::map<std::string_view, SeedFill> seedFills; ///< by format
  std::vector<Address> operands;                  ///< of all launches, one after the other
  std::vector<std::vector<void *>> arguments;     ///< pointers to them, as drivers take them
  /// By all that describes them: launches share them. (Buffers that do not live at the same time
  /// share an address, and may be of different widths.)
  std::map<std::array<uint64_t, 7>, TensorMap> tensorMaps;
  std::vector<PlannedLaunch> launches; ///< of all cases of the steps' sections
  std::vector<PlannedCase> cases;      ///< one behind the other
  AttentionSharing sharing;
  std::map<std::pair<uint64_t, Mode>, Graph> graphOfBucket;
  std::vector<std::pair<uint64_t, Mode>> graphsToMake; ///< when there is time, the last first
  int64_t logitsRowStride = 0;
  bool keysRaised = false; ///< by a step for its logits, since they were cleared

  std::unique_ptr<runtime::Trace> tracing;
  int64_t tracedTokens = 0;  ///< of the step under way
  std::vector<Event> events; ///< one before each launch, one at the end
  std::vector<bool> launched;
  /// A launch that groups routes: what a trace counts of them, before another layer's take their place.
  struct WatchedRoutes {
    Event grouped; ///< when the copy begins, whose time is nobody's
    PinnedMemory segments;
  };
  std::map<size_t, WatchedRoutes> watched; ///< by launch
};

} // namespace ingot::cuda
