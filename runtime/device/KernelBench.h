//===- KernelBench.h - Launches of a step, timed alone ---------------------===//
//
// What `ingot bench-kernels` asks of an executor: of a step over some batch run the launches of one
// kernel in all layers, again and again, and say how long they take. Layer follows layer as in a
// step, so each launch finds the weights of its layer where a step finds them: in memory.
//
//   a step        norm qkv attention o norm gate,up down | norm qkv attention o … | … head
//   only qkv           qkv                               |      qkv               | …
//   without qkv   norm     attention o norm gate,up down | norm     attention o … | … head
//
// Launches work on whatever lies in the buffers. What they compute is of no use, and afterwards the
// KV cache and all buffers hold numbers of no meaning.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/abi/Batch.h"
#include "runtime/error/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

class KernelBench {
public:
  virtual ~KernelBench() = default;

  /// Of the launches of a step, and where it ends with ids those that find them.
  struct Choice {
    std::optional<uint32_t> only = std::nullopt;    ///< those of this kernel
    std::optional<uint32_t> without = std::nullopt; ///< all but those of this one
    bool overlap = true; ///< a launch may start while the one before ends, where both can

    bool has(uint32_t kernel) const {
      return (!only || *only == kernel) && (!without || *without != kernel);
    }
    bool operator==(const Choice &) const = default;
  };

  struct Launches {
    uint64_t count = 0;   ///< in a step; 0: it has none of them
    std::string variant;  ///< the function, where the kernel has several; of the first launch
    bool overlap = false; ///< some of them can start early
  };

  /// What the device can do at most; 0 where that is not known.
  struct Limits {
    double readGbPerS = 0;                ///< of memory
    double bf16Gflops = 0, fp8Gflops = 0; ///< a multiplication and an addition are two
    double f32Gflops = 0, int8Gops = 0;
  };

  /// Runs a step over the batch, which later calls work on. It stays the caller's, and as it is
  /// until the next call of this. Errors of Executor::step().
  virtual Result<void> prepare(const BatchView &batch) = 0;
  virtual Launches launches(const Choice &choice) = 0;
  /// Runs the launches of the choice `rounds` times `runs` times, after once for nothing. The
  /// seconds of one run of them in each round: the mean of its `runs`. Launches of fewer than
  /// kLeastLaunches are run so often that they are as many.
  virtual Result<std::vector<double>> time(const Choice &choice, int rounds, int runs) = 0;
  static constexpr uint64_t kLeastLaunches = 8;
  /// Seconds that the host takes to put the prepared step into the device's queue; nothing where
  /// there is none.
  virtual Result<std::optional<double>> hostSeconds() = 0;
  /// Whether something can still be run: after an error.
  virtual bool alive() = 0;
  virtual Result<Limits> limits() = 0;
};

} // namespace ingot::runtime
