//===- EngineOptions.h - Options that several subcommands share ------------===//
//
// These options choose the model, the device and the limits, and open a session. A model
// that is a checkpoint is first compiled into the cache (EngineCache.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sample/SamplingFields.h"
#include "runtime/session/Session.h"
#include "tools/ingot/engines/EngineCache.h"
#include "tools/options/CommandLine.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ingot::cli {

/// Options of every subcommand.
struct CommonOptions {
  std::string device; ///< empty: the CPU, unless the engine has only GPU code
  std::string isa;    ///< empty: the best that this machine has
  int threads = 0;    ///< 0: all processors
  std::string trace;
  bool quiet = false;
  bool json = false;

  void define(CommandLine &command);
  /// Writes a line to stderr unless --quiet or --json is given.
  void say(std::string_view line) const;
};

struct LimitOptions {
  int64_t context = 0;
  int64_t maxSeqs = 0;        ///< 0: as many as the command needs
  int64_t maxBatchTokens = 0; ///< 0: the device's default
  uint64_t kvMemory = 0;
  std::optional<uint64_t> swap; ///< not given: as much as the command needs
  bool noPrefixCache = false;
  bool lock = false;

  void define(CommandLine &command);
};

/// Tuning options for experiments on a GPU (docs/gpu-runtime.md). They are not in the help and have no
/// effect on CPUs.
struct GpuFlags {
  std::string edges = "programmatic";
  std::string carveout; ///< empty: the default of GpuOptions
  std::string graphs = "on";

  void define(CommandLine &command);
  cuda::GpuOptions options() const;
};

struct EngineOptions {
  std::string model; ///< an engine, or a checkpoint
  CommonOptions common;
  LimitOptions limits;
  GpuFlags gpu;
  CompileOptions compile;
  bool verify = false; ///< check every byte of the engine before it runs

  /// Defines the positional MODEL and then all options above.
  void define(CommandLine &command);
  /// Returns the engine's path; compiles a checkpoint that is not in the cache. If the trace cannot
  /// be written, returns E0121 before compiling.
  Result<std::string> enginePath() const;
  /// Opens a session with the given limits; `defaults` holds the command's preferences. Reports the
  /// memory that the session takes.
  Result<std::unique_ptr<runtime::Session>> open(runtime::SessionOptions defaults = {}) const;
  Result<std::unique_ptr<runtime::Session>> open(const std::string &enginePath,
                                                 runtime::SessionOptions defaults) const;
  /// Returns `defaults`, overridden by the given limits.
  runtime::SessionOptions withLimits(runtime::SessionOptions defaults) const;
  /// Ends a command: writes the trace if one was requested. Returns 0. Errors: E0703, or the
  /// failure of the device during the run.
  Result<int> close(runtime::Session &session) const;
};

/// Returns options for a command that measures an engine and does not report the memory it takes.
EngineOptions quietly(const std::string &path, const CommonOptions &common,
                      const LimitOptions &limits);

struct SamplingOptions {
  bool greedy = false;
  std::vector<std::string> logitBias; ///< "ID=VALUE"
  std::vector<std::string> stopStrings;
  bool ignoreEos = false;

  void define(CommandLine &command);
  /// Returns the fields that the options give. Errors: E0104: a bias cannot be parsed; E0510: a
  /// value is out of range.
  Result<runtime::AskedSampling> asked() const;

private:
  runtime::SamplingParams values; ///< of the options below
  std::vector<std::pair<const runtime::SamplingField *, Option>> fields;
};

/// Returns a line about the memory that the session took: "93.1 MiB engine + 90.0 MiB KV (…) + …".
std::string memoryLine(const runtime::Session &session);

} // namespace ingot::cli
