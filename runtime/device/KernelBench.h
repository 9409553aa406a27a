//===- KernelBench.h - Times selected launches of a step -------------------===//
//
// `ingot bench-kernels` selects the launches of one kernel, in all layers, from a step over some batch.
// It runs them repeatedly and reports how long they take. The layers follow each other as in a step, so
// each launch reads the weights of its layer from memory, as a step does, rather than from a cache.
//
//   a step        norm qkv attention o norm gate,up down | norm qkv attention o … | … head
//   only qkv           qkv                               |      qkv               | …
//   without qkv   norm     attention o norm gate,up down | norm     attention o … | … head
//
// Launches work on whatever the buffers contain. Their results are meaningless, and so are the KV
// cache and all buffers afterwards.
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

  /// Selects launches of a step. If the step ends with token ids, this includes the launches that find them.
  struct Choice {
    std::optional<uint32_t> only = std::nullopt;    ///< the launches of this kernel
    std::optional<uint32_t> without = std::nullopt; ///< all launches except launches of this kernel
    bool overlap = true; ///< a launch may start while the previous one ends, if both support it

    bool has(uint32_t kernel) const {
      return (!only || *only == kernel) && (!without || *without != kernel);
    }
    bool operator==(const Choice &) const = default;
  };

  struct Launches {
    uint64_t count = 0;   ///< in a step; 0: the step has none
    std::string variant;  ///< the function of the first launch, if the kernel has several
    bool overlap = false; ///< some of them can start early
  };

  /// Peak rates of the device; 0 where unknown.
  struct Limits {
    double readGbPerS = 0;                ///< memory reads
    double bf16Gflops = 0, fp8Gflops = 0; ///< a multiply-add counts as two operations
    double f32Gflops = 0, int8Gops = 0;
  };

  /// Runs a step over the batch. Later calls select launches of this step. The caller keeps ownership
  /// of the batch and must leave it unchanged until the next call of this function. Returns the errors
  /// of Executor::step().
  virtual Result<void> prepare(const BatchView &batch) = 0;
  virtual Launches launches(const Choice &choice) = 0;
  /// Runs the selected launches `rounds` * `runs` times, after one untimed warm-up run. Returns the
  /// seconds of one run for each round: the mean of the round's `runs`. If fewer than
  /// kLeastLaunches launches are selected, they are repeated until there are that many.
  virtual Result<std::vector<double>> time(const Choice &choice, int rounds, int runs) = 0;
  static constexpr uint64_t kLeastLaunches = 8;
  /// Returns the seconds that the host takes to put the prepared step into the device's queue; nullopt if the
  /// device has no queue.
  virtual Result<std::optional<double>> hostSeconds() = 0;
  /// Returns whether the device can still run anything after an error.
  virtual bool alive() = 0;
  virtual Result<Limits> limits() = 0;
};

} // namespace ingot::runtime
