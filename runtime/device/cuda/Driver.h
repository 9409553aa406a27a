//===- Driver.h - The executor's interface to a GPU ------------------------===//
//
// The executor manages memory, modules, launches, graphs and times only through this interface, so the
// same code runs on a GPU and on the emulator.
//
//   LibcudaDriver    libcuda.so.1, opened at run time
//   EmulatorDriver   the same kernels as host code, on emulator/host
//
// A driver has one device and one queue. Queued work (copies, launches, graphs, events) runs in
// order and may run after the call has returned; `wait` waits for all of it. If the device fails, a later
// call may therefore report it. Only one thread may call the driver at a time, but it may be a different one each
// time; the thread that destroys it may never have called it before.
//
// Errors are E07xx, exit code 4.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/GpuOptions.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/error/Error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ingot::cuda {

using Address = uint64_t; ///< of device memory; 0: none

// Handles of objects that the driver owns. An object lives until it is released or the driver is
// destroyed.
using Module = struct ModuleHandle *;
using Kernel = struct KernelHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;

struct DeviceInfo {
  std::string name; ///< "NVIDIA H200"
  runtime::ComputeCapability capability = 0;
  int driverVersion = 0; ///< newest CUDA version that the driver supports: 13000 for 13.0; 0:
                         ///< irrelevant
  uint64_t totalMemory = 0;
  uint64_t reserved = 0;       ///< part of totalMemory: reservedOf(); the emulator uses host memory
                               ///< and reserves none
  uint32_t processors = 0;     ///< SMs
  uint32_t sharedPerBlock = 0; ///< maximum dynamic shared memory of a block, after opt-in
};

/// Returns the number of bytes that executors leave free on a GPU with that much memory. Code (loaded when a
/// kernel first runs), graphs and the driver's heaps are allocated later, when a failure can no
/// longer be reported as a refusal.
inline uint64_t reservedOf(uint64_t totalMemory) {
  const uint64_t wanted = std::max(uint64_t(512) << 20, totalMemory / 100);
  return std::min(wanted, totalMemory / 8);
}

/// The parameters of a kernel launch.
struct Launch {
  uint32_t grid[3] = {1, 1, 1}; ///< blocks along x, y and z
  uint32_t threads = 32;        ///< per block
  uint32_t sharedBytes = 0;
  uint32_t cluster = 1; ///< blocks of a cluster, along x; divides grid[0]
  /// Programmatic dependent launch: blocks may start when the previous kernel allows it, and
  /// themselves wait for its end.
  bool overlap = false;
};

struct GraphNode {
  Kernel kernel;
  Launch launch;
  void *const *arguments;      ///< as in Driver::launch; unchanged while the graph lives
  std::vector<uint32_t> after; ///< indices of earlier nodes
};

/// Consecutive rows in device memory, from which kernels copy boxes with TMA.
struct TensorRows {
  Address base; ///< 16-byte aligned
  bool bf16;    ///< elements of 2 bytes; else of 1
  uint64_t columns, rows;
  uint32_t boxColumns, boxRows; ///< at most 256 each
  bool swizzle;                 ///< 128-byte swizzle: codegen/cuda/device/swizzle.cuh

  uint64_t rowBytes() const { return columns * (bf16 ? 2 : 1); }
};
/// The TMA descriptor (CUtensorMap) of TensorRows; passed to kernels by value.
struct alignas(64) TensorMap {
  std::byte opaque[128];
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual const DeviceInfo &device() const = 0;
  /// Returns the number of bytes that can be allocated now.
  virtual Result<uint64_t> freeMemory() = 0;

  /// Allocates device memory, 256-byte aligned. E0716; `what` names the memory in the message.
  virtual Result<Address> allocate(uint64_t bytes, const std::string &what) = 0;
  virtual void release(Address address) = 0;
  /// Allocates host memory that queued copies read and write at full speed.
  virtual Result<std::byte *> allocateHost(uint64_t bytes) = 0;
  virtual void releaseHost(std::byte *memory) = 0;

  // The calls up to record() are queued. Host memory must stay unchanged until its copy is done.
  virtual Result<void> copyToDevice(Address to, const void *from, uint64_t bytes) = 0;
  virtual Result<void> copyToHost(void *to, Address from, uint64_t bytes) = 0;
  virtual Result<void> copyOnDevice(Address to, Address from, uint64_t bytes) = 0;
  virtual Result<void> clear(Address to, uint64_t bytes) = 0;
  /// `arguments[i]` points to the value of the i-th parameter.
  virtual Result<void> launch(Kernel kernel, const Launch &launch, void *const *arguments) = 0;
  virtual Result<void> launch(Graph graph) = 0;
  virtual Result<void> record(Event event) = 0;
  virtual Result<void> wait() = 0;

  /// Loads a cubin, PTX or host object that the device can run; `what` names it. E0717.
  virtual Result<Module> load(std::span<const std::byte> image, const std::string &what) = 0;
  /// Finds a function of the module and allows it to use `sharedBytes` of dynamic shared memory.
  /// `carveout`: see GpuOptions. E0717.
  virtual Result<Kernel> find(Module module, const std::string &symbol, uint32_t sharedBytes,
                              int carveout = kDriversCarveout) = 0;

  /// Creates the tensor map of the rows. E0724.
  virtual Result<TensorMap> describe(const TensorRows &rows) = 0;

  /// `timed`: secondsBetween() may be called for it, which costs the device a little.
  virtual Result<Event> createEvent(bool timed = true) = 0;
  /// Waits for all work that was queued before the event was recorded.
  virtual Result<void> wait(Event event) = 0;
  /// Returns the seconds between two timed events, both completed.
  virtual Result<double> secondsBetween(Event begin, Event end) = 0;

  /// Builds a graph of the nodes on the device, ready to be launched.
  virtual Result<Graph> createGraph(std::span<const GraphNode> nodes) = 0;
  /// Destroys the graph. No launch of it may still be in the queue.
  virtual void release(Graph graph) = 0;
};

/// E0724: the device cannot describe these rows.
inline Error tensorMapError(const TensorRows &rows, std::string why) {
  using std::to_string;
  return {ExitCode::Device, "E0724",
          "the GPU cannot describe " + to_string(rows.rows) + " rows of " +
              to_string(rows.rowBytes()) + " bytes in boxes of " + to_string(rows.boxRows) +
              " by " + to_string(rows.boxColumns),
          std::move(why),
          "compile with --batch-invariant, which uses no tensor maps, and please report this"};
}

/// Returns whether the edge from `from` to `to` can be programmatic: both kernels support it, and `to`
/// waits for no other node, so its own wait covers everything before it.
inline bool overlaps(const GraphNode &from, const GraphNode &to) {
  return from.launch.overlap && to.launch.overlap && to.after.size() == 1;
}

} // namespace ingot::cuda
