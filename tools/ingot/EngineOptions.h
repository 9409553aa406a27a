//===- EngineOptions.h - Options that several subcommands share ------------===//
//
// Which model, on which device, within which limits; and from there to an open
// session. Where the model is a checkpoint it is compiled first, into the cache
// (EngineCache.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "tools/ingot/EngineCache.h"
#include "tools/options/CommandLine.h"

#include <memory>
#include <optional>
#include <string>

namespace ingot::cli {

/// Options of every subcommand.
struct CommonOptions {
  std::string device; ///< empty: the CPU, unless the engine has GPU code alone
  std::string isa;    ///< empty: the best here
  int threads = 0;    ///< 0: all processors
  std::string trace;
  bool quiet = false;
  bool json = false;

  void define(CommandLine &command);
  /// A line to stderr unless --quiet or --json.
  void say(std::string_view line) const;
};

struct LimitOptions {
  int64_t context = 0;
  int64_t maxSeqs = 0;        ///< 0: what the command needs
  int64_t maxBatchTokens = 0; ///< 0: the device's default
  uint64_t kvMemory = 0;
  std::optional<uint64_t> swap; ///< not given: what the command needs
  bool noPrefixCache = false;
  bool lock = false;

  void define(CommandLine &command);
};

/// What is compared on a device (docs/gpu.md): not in the help, without effect on CPUs.
struct GpuKnobs {
  std::string edges = "programmatic";
  std::string carveout; ///< empty: GpuOptions'
  std::string graphs = "on";

  void define(CommandLine &command);
  cuda::GpuOptions options() const;
};

struct EngineOptions {
  std::string model; ///< an engine, or a checkpoint
  CommonOptions common;
  LimitOptions limits;
  GpuKnobs gpu;
  CompileOptions compile;
  bool verify = false; ///< every byte of the engine, before it runs

  /// The positional MODEL, then everything above.
  void define(CommandLine &command);
  /// The engine's path; compiles a checkpoint if it is not in the cache. E0121 before that
  /// where the trace could not be written.
  Result<std::string> enginePath() const;
  /// A session with the limits given; `defaults` holds what the command would like.
  /// Says what memory is taken.
  Result<std::unique_ptr<runtime::Session>> open(runtime::SessionOptions defaults = {}) const;
  Result<std::unique_ptr<runtime::Session>> open(const std::string &enginePath,
                                                 runtime::SessionOptions defaults) const;
  /// `defaults` with what was given on top.
  runtime::SessionOptions withLimits(runtime::SessionOptions defaults) const;
  /// The end of a command: writes the trace, if one was asked for. 0, or E0703; or why the device
  /// failed on the way.
  Result<int> close(runtime::Session &session) const;
};

/// Those of a command that measures an engine, and says nothing of what it takes.
EngineOptions quietly(const std::string &path, const CommonOptions &common,
                      const LimitOptions &limits);

struct SamplingOptions {
  bool greedy = false;
  std::optional<float> temperature, topP, minP, typicalP, repetitionPenalty, presencePenalty,
      frequencyPenalty;
  std::optional<int32_t> topK;
  std::optional<uint64_t> seed;
  std::vector<std::string> logitBias; ///< "ID=VALUE"
  std::vector<std::string> stopStrings;
  bool ignoreEos = false;

  void define(CommandLine &command);
  /// The engine's defaults with what was given on top. A filter without a temperature
  /// turns sampling on (temperature 1); sampling without a seed draws one. E0104 for a
  /// bias that cannot be read.
  Result<runtime::SamplingParams> apply(runtime::SamplingParams defaults) const;
};

/// "93.1 MiB engine + 90.0 MiB KV (…) + …": what the session took.
std::string memoryLine(const runtime::Session &session);

} // namespace ingot::cli
