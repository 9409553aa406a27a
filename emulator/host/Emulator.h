//===- Emulator.h - Runs CUDA kernels as host code -------------------------===//
//
// Kernels printed by the CUDA emitter are compiled by clang as host code against emulator/kernel, and run
// here with their GPU semantics: blocks, warps, barriers, shuffles, asynchronous copies, tensor cores,
// clusters. A thread is a fiber; a warp-synchronous operation synchronises 32 fibers; an asynchronous copy
// takes effect as late as the rules allow. docs/gpu-emulator.md lists what is checked and what is not
// faithful.
//
// Two builds of a kernel, one emulator:
//   fast     computes results; detects only errors that break synchronisation (divergence, deadlock, over-arrival)
//   checked  observes every plain load and store (-fsanitize=thread with the hooks defined here,
//            libtsan is not linked): races, uninitialised memory, bounds, copies in flight, …
//
// The emulator is one shared library, libingot-cuda-emulator.so, without LLVM. A kernel object is a shared object. Its
// undefined symbols (KernelEntries.h, __tsan_*) are resolved at load time. The library must therefore be in the global
// scope first: linked by the program, or opened with RTLD_GLOBAL. Then use dlopen(kernel, RTLD_NOW | RTLD_LOCAL) and
// dlsym("NAME__launch").
//
// A device is used by one thread at a time. Kernels run on the device's own threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/KernelEntries.h"
#include "runtime/error/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ingot::emulator {

/// A violation: behaviour of a kernel that CUDA forbids or leaves undefined.
enum class Rule {
  UninitialisedShared, ///< reads shared memory that was never written
  UninitialisedGlobal,
  SharedRace, ///< two accesses, at least one of them a write, without a barrier in between
  RaceBetweenBlocks,
  SharedBounds, ///< shared memory outside every array
  GlobalBounds,
  Misaligned,
  ConstantWrite, ///< to a buffer that was declared constant
  CopyInFlight,  ///< accesses memory of a cp.async that has not been waited for
  CopyNeverWaited,
  MissingProxyFence,
  MissingWgmmaFence,
  Mbarrier, ///< not initialised, too many arrivals, bytes that were not announced
  DivergentBarrier,
  DivergentWarp, ///< lanes of a warp at different operations
  Deadlock,
  BeforeDependencyWait, ///< writes, or reads the result of an earlier launch, before pdl_wait
  NoDependencyWait,     ///< a programmatic launch that never called pdl_wait
  Cluster,              ///< a peer's memory before the first cluster barrier, or after the peer
                        ///< exited
  BadOperand,           ///< a descriptor, a count, a barrier id
  StackOverflow,
};

inline const char *ruleName(Rule rule) {
  switch (rule) {
  case Rule::UninitialisedShared:
    return "uninitialised shared memory";
  case Rule::UninitialisedGlobal:
    return "uninitialised global memory";
  case Rule::SharedRace:
    return "shared race";
  case Rule::RaceBetweenBlocks:
    return "race between blocks";
  case Rule::SharedBounds:
    return "shared out of bounds";
  case Rule::GlobalBounds:
    return "global out of bounds";
  case Rule::Misaligned:
    return "misaligned";
  case Rule::ConstantWrite:
    return "write to constant buffer";
  case Rule::CopyInFlight:
    return "async copy in flight";
  case Rule::CopyNeverWaited:
    return "async copy never waited for";
  case Rule::MissingProxyFence:
    return "missing proxy fence";
  case Rule::MissingWgmmaFence:
    return "missing wgmma fence";
  case Rule::Mbarrier:
    return "mbarrier";
  case Rule::DivergentBarrier:
    return "divergent barrier";
  case Rule::DivergentWarp:
    return "divergent warp operation";
  case Rule::Deadlock:
    return "deadlock";
  case Rule::BeforeDependencyWait:
    return "before the dependency wait";
  case Rule::NoDependencyWait:
    return "no dependency wait";
  case Rule::Cluster:
    return "cluster";
  case Rule::BadOperand:
    return "bad operand";
  case Rule::StackOverflow:
    return "stack overflow";
  }
  return "";
}

/// A line of a kernel's source; line 0 if unknown (an object without -g, no addr2line).
struct Location {
  std::string file;
  int line = 0;
};

struct Finding {
  Rule rule;
  std::string kernel; ///< the launch's name
  std::string text;   ///< the thread, the access and its bytes, and the block
  Location where;
  Location other; ///< the other access of a race, or the other side of a divergence

  /// "shared race in gemm: …; at gemm.cu:31, other side gemm.cu:28"
  std::string format() const {
    auto place = [](const Location &l) {
      return l.file.substr(l.file.rfind('/') + 1) + ":" + std::to_string(l.line);
    };
    std::string line = std::string(ruleName(rule)) + " in " + kernel + ": " + text;
    if (where.line)
      line += "; at " + place(where);
    if (other.line)
      line += ", other side " + place(other);
    return line;
  }
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

struct Launch {
  std::string name;                      ///< for findings
  void (*entry)(void *const *arguments); ///< NAME__launch
  void *const *arguments;                ///< arguments[i] points to the i-th value (cuLaunchKernel)
  Extent grid, block, cluster;           ///< cluster divides grid; {1, 1, 1}: none
  uint32_t dynamicShared = 0;            ///< bytes
  bool pdl = false;                      ///< may start before the preceding launch has ended
  bool resident = false; ///< all blocks run concurrently (cooperative launch): for spin_until
};

/// The parameters of cuTensorMapEncodeTiled for a two-dimensional matrix.
struct TensorMatrix {
  const void *base;      ///< row 0; 16-byte aligned
  uint32_t elementBytes; ///< 1, 2, 4
  uint64_t columns, rows;
  uint64_t rowBytes;            ///< distance between rows; a multiple of 16
  uint32_t boxColumns, boxRows; ///< the box of one copy; at most 256 each
  bool swizzle128;              ///< box rows of at most 128 bytes, XOR swizzle (swizzle.cuh)
};

struct Options {
  int workers = 1;
  uint32_t seed = 0;    ///< selects another schedule: next thread, order in which copies complete,
                        ///< order of blocks
  bool checked = false; ///< all kernels that the device will run were compiled with the hooks
  int arch = 90;        ///< 80, 89, 90, 100, 120: determines the limits of a launch
};

class Device {
public:
  virtual ~Device() = default;

  /// Allocates `bytes` of memory, 256-byte aligned. It is zero, but the checks treat it as never written. A
  /// constant buffer can be written only by upload. E0720 (exit code 4) if the system has no memory.
  virtual Result<void *> allocate(size_t bytes, const std::string &name, bool constant = false) = 0;
  /// Requires that `address` came from allocate and that no launch is running.
  virtual void free(void *address) = 0;
  /// Host to device. `to` may point inside a buffer.
  virtual void upload(void *to, const void *from, size_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, size_t bytes) = 0;
  /// Device to host. Device addresses are host addresses here.
  virtual void download(void *to, const void *from, size_t bytes) const = 0;

  /// Runs a launch to completion. E0721 (exit code 4): the launch exceeds the limits of `arch`. E0722 (exit
  /// code 70): the kernel broke a rule. The error text has the first finding, and findings() has all.
  virtual Result<void> launch(const Launch &launch) = 0;
  /// Declares all launches so far complete: a later programmatic launch need not wait for them.
  virtual void synchronize() = 0;

  /// One finding per rule and pair of lines, in order of occurrence, at most 100.
  virtual std::vector<Finding> findings() const = 0;
  virtual void clearFindings() = 0;

  /// Writes the 128 bytes of a TensorMap (64-byte aligned). E0721 if a rule of the copy engine is broken.
  virtual Result<void> encodeTensorMap(void *map, const TensorMatrix &matrix) const = 0;
};

} // namespace ingot::emulator

/// The only symbol needed by a program that opens the library with dlopen. The caller owns the device.
extern "C" INGOT_EMU_API ingot::emulator::Device *
ingotCreateCudaEmulator(const ingot::emulator::Options &options);
