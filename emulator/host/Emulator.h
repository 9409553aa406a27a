//===- Emulator.h - CUDA kernels as host code, run block by block ----------===//
//
// Kernels printed by the CUDA emitter, compiled by clang as host code against
// emulator/kernel, run here with the meaning they have on a GPU: blocks, warps, barriers,
// shuffles, asynchronous copies, tensor cores, clusters. A thread is a fiber; a warp operation is a
// meeting of 32 fibers; an asynchronous copy lands as late as the rules allow. docs/gpu.md,
// "The emulator", says what is checked and what is not faithful.
//
// Two builds of a kernel, one emulator:
//   fast     numbers; and what breaks a meeting (divergence, deadlock, over-arrival)
//   checked  every plain load and store is seen (-fsanitize=thread with the hooks defined here,
//            libtsan is not linked): races, memory never written, bounds, copies in flight, …
//
// All of it is one shared library, libingot-cuda-emulator.so, no LLVM. A kernel object is a shared
// object with undefined symbols (KernelEntries.h, __tsan_*) that are found at load. So the library
// must be in the global scope first: linked by the program, or opened with RTLD_GLOBAL. Then
// dlopen(kernel, RTLD_NOW | RTLD_LOCAL) and dlsym("NAME__launch").
//
// A device belongs to one thread at a time. Kernels run on the device's own threads.
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

/// What a kernel did that CUDA forbids, or leaves undefined.
enum class Rule {
  UninitialisedShared, ///< reads shared memory that nobody wrote
  UninitialisedGlobal,
  SharedRace, ///< two accesses, one a write, and no barrier between
  RaceBetweenBlocks,
  SharedBounds, ///< shared memory that belongs to no array
  GlobalBounds,
  Misaligned,
  ConstantWrite, ///< to a buffer that was declared constant
  CopyInFlight,  ///< touches what cp.async has not been waited for
  CopyNeverWaited,
  MissingProxyFence,
  MissingWgmmaFence,
  Mbarrier, ///< not initialised, too many arrivals, bytes that nobody announced
  DivergentBarrier,
  DivergentWarp, ///< lanes of a warp at different operations
  Deadlock,
  BeforeDependencyWait, ///< writes, or reads an earlier launch's result, before pdl_wait
  NoDependencyWait,     ///< a programmatic launch that never called pdl_wait
  Cluster,              ///< a peer's memory before the first cluster barrier, or after it left
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

/// A line of a kernel's source; line 0: not known (an object without -g, no addr2line).
struct Location {
  std::string file;
  int line = 0;
};

struct Finding {
  Rule rule;
  std::string kernel; ///< the launch's name
  std::string text;   ///< who did what to which bytes, in which block
  Location where;
  Location other; ///< the other side of a race or a divergence

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
  bool pdl = false;                      ///< may start before the launch before it has ended
  bool resident = false; ///< all blocks at once (cooperative launch): for spin_until
};

/// What cuTensorMapEncodeTiled is told for a matrix of two dimensions.
struct TensorMatrix {
  const void *base;      ///< row 0; 16-byte aligned
  uint32_t elementBytes; ///< 1, 2, 4
  uint64_t columns, rows;
  uint64_t rowBytes;            ///< from a row to the next; a multiple of 16
  uint32_t boxColumns, boxRows; ///< what one copy takes; at most 256 each
  bool swizzle128;              ///< box rows of at most 128 bytes, XOR swizzle (swizzle.cuh)
};

struct Options {
  int workers = 1;
  uint32_t seed = 0;    ///< another schedule: who runs next, which copy lands, order of blocks
  bool checked = false; ///< the kernels were compiled with the hooks; they all must be
  int arch = 90;        ///< 80, 89, 90, 100, 120: limits of a launch
};

class Device {
public:
  virtual ~Device() = default;

  /// `bytes` of memory, 256-byte aligned, all zero but "never written" for the checks. A constant
  /// buffer is written by upload alone. E0720 (exit 4) if the system has no memory.
  virtual Result<void *> allocate(size_t bytes, const std::string &name, bool constant = false) = 0;
  /// `address` came from allocate and no launch is under way.
  virtual void free(void *address) = 0;
  /// Host to device. `to` may lie inside a buffer.
  virtual void upload(void *to, const void *from, size_t bytes) = 0;
  virtual void fill(void *to, uint8_t value, size_t bytes) = 0;
  /// Device to host. Device addresses are host addresses here.
  virtual void download(void *to, const void *from, size_t bytes) const = 0;

  /// Runs to the end. E0721 (exit 4): the launch is outside the limits of `arch`; E0722 (exit 70):
  /// it broke a rule, its first finding is in the text and all are in findings().
  virtual Result<void> launch(const Launch &launch) = 0;
  /// Every launch so far has ended: a later programmatic launch need not wait for them.
  virtual void synchronize() = 0;

  /// Each kind at each pair of lines once, in the order met, at most 100.
  virtual std::vector<Finding> findings() const = 0;
  virtual void clearFindings() = 0;

  /// Makes the 128 bytes of a TensorMap (64-byte aligned). E0721 if a rule of the copy engine is
  /// broken.
  virtual Result<void> encodeTensorMap(void *map, const TensorMatrix &matrix) const = 0;
};

} // namespace ingot::emulator

/// The only symbol a program that opens the library by dlopen needs. The caller owns the device.
extern "C" INGOT_EMU_API ingot::emulator::Device *
ingotCreateCudaEmulator(const ingot::emulator::Options &options);
