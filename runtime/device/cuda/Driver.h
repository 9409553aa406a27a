//===- Driver.h - What the executor asks of a GPU --------------------------===//
//
// Memory, modules, launches, graphs, times: everything above knows this interface alone,
// so it runs on the emulator as it does on a GPU.
//
//   LibcudaDriver    libcuda.so.1, opened at run time
//   EmulatorDriver   the same kernels as host code, on emulator/host
//
// A driver has one device and one queue. What is put into the queue (copies, launches,
// graphs, events) happens in order, after the call has returned; `wait` waits for all of it.
// A failure of the device may therefore be reported by a later call. One thread at a time calls
// it, another one each time if need be; the last may be one that never did.
//
// Errors are E07xx, exit 4.
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

// Owned by the driver: each lives until it is given back or the driver goes.
using Module = struct ModuleHandle *;
using Kernel = struct KernelHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;

struct DeviceInfo {
  std::string name; ///< "NVIDIA H200"
  runtime::ComputeCapability capability = 0;
  int driverVersion = 0; ///< 13000: what CUDA 13.0 needs is there; 0: no matter
  uint64_t totalMemory = 0;
  uint64_t reserved = 0;       ///< of it: reservedOf(); the emulator's is the host's, and nothing
  uint32_t processors = 0;     ///< multiprocessors
  uint32_t sharedPerBlock = 0; ///< most dynamic shared memory of a block, opted in
};

/// Bytes that executors leave free of a GPU with that much memory. Code (loaded when a kernel first
/// runs), graphs and the driver's heaps take theirs later, when there is nobody left to refuse.
inline uint64_t reservedOf(uint64_t totalMemory) {
  const uint64_t wanted = std::max(uint64_t(512) << 20, totalMemory / 100);
  return std::min(wanted, totalMemory / 8);
}

/// How many blocks of how many threads.
struct Launch {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t threads = 32;
  uint32_t sharedBytes = 0;
  uint32_t cluster = 1; ///< blocks of a cluster, along x; divides grid[0]
  /// Programmatic dependent launch: blocks may start when the kernel before lets them and
  /// wait for its end by themselves.
  bool overlap = false;
};

struct GraphNode {
  Kernel kernel;
  Launch launch;
  void *const *arguments;      ///< as of Driver::launch; stay as they are while the graph lives
  std::vector<uint32_t> after; ///< indices of earlier nodes
};

/// Rows in device memory, each behind the other, of which kernels copy boxes.
struct TensorRows {
  Address base; ///< 16-byte aligned
  bool bf16;    ///< elements of 2 bytes; else of 1
  uint64_t columns, rows;
  uint32_t boxColumns, boxRows; ///< at most 256 each
  bool swizzle;                 ///< 128 bytes: codegen/cuda/device/swizzle.cuh

  uint64_t rowBytes() const { return columns * (bf16 ? 2 : 1); }
};
/// The copy engine's description of them; a parameter of kernels, by value.
struct alignas(64) TensorMap {
  std::byte opaque[128];
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual const DeviceInfo &device() const = 0;
  /// Bytes that can be taken now.
  virtual Result<uint64_t> freeMemory() = 0;

  /// Device memory on a 256-byte line. E0716; `what` names it in the message.
  virtual Result<Address> allocate(uint64_t bytes, const std::string &what) = 0;
  virtual void release(Address address) = 0;
  /// Host memory that copies of the queue read and write at full speed.
  virtual Result<std::byte *> allocateHost(uint64_t bytes) = 0;
  virtual void releaseHost(std::byte *memory) = 0;

  // In the queue. Host memory must stay as it is until the copy is done.
  virtual Result<void> copyToDevice(Address to, const void *from, uint64_t bytes) = 0;
  virtual Result<void> copyToHost(void *to, Address from, uint64_t bytes) = 0;
  virtual Result<void> copyOnDevice(Address to, Address from, uint64_t bytes) = 0;
  virtual Result<void> clear(Address to, uint64_t bytes) = 0;
  /// `arguments[i]` points to the value of the i-th parameter.
  virtual Result<void> launch(Kernel kernel, const Launch &launch, void *const *arguments) = 0;
  virtual Result<void> launch(Graph graph) = 0;
  virtual Result<void> record(Event event) = 0;
  virtual Result<void> wait() = 0;

  /// A cubin, PTX or host object that the device can run; `what` names it. E0717.
  virtual Result<Module> load(std::span<const std::byte> image, const std::string &what) = 0;
  /// Its function, allowed to use `sharedBytes` of dynamic shared memory. `carveout`: see
  /// GpuOptions. E0717.
  virtual Result<Kernel> find(Module module, const std::string &symbol, uint32_t sharedBytes,
                              int carveout = kDriversCarveout) = 0;

  /// E0724.
  virtual Result<TensorMap> describe(const TensorRows &rows) = 0;

  /// `timed`: secondsBetween() will be asked of it, which costs the device a little.
  virtual Result<Event> createEvent(bool timed = true) = 0;
  /// Waits for what was put into the queue before the event was recorded.
  virtual Result<void> wait(Event event) = 0;
  /// Seconds between two timed events that are done.
  virtual Result<double> secondsBetween(Event begin, Event end) = 0;

  /// The nodes, on the device and ready to be launched as one.
  virtual Result<Graph> createGraph(std::span<const GraphNode> nodes) = 0;
  /// The queue is done with it.
  virtual void release(Graph graph) = 0;
};

/// E0724: the device cannot describe them.
inline Error tensorMapError(const TensorRows &rows, std::string why) {
  using std::to_string;
  return {
      ExitCode::Device, "E0724",
      "the GPU cannot describe " + to_string(rows.rows) + " rows of " + to_string(rows.rowBytes()) +
          " bytes in boxes of " + to_string(rows.boxRows) + " by " + to_string(rows.boxColumns),
      std::move(why), "compile with --batch-invariant, which uses none, and please report this"};
}

/// The edge from `from` to `to` can be programmatic: both kernels know how, and `to` waits for
/// nothing else, so that its own waiting covers all of its past.
inline bool overlaps(const GraphNode &from, const GraphNode &to) {
  return from.launch.overlap && to.launch.overlap && to.after.size() == 1;
}

} // namespace ingot::cuda
