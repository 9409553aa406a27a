//===- Session.h - A loaded engine that answers requests ------------------===//
//
// A Session owns an engine file, the device that runs it, its tokenizer (if it has one) and a
// scheduler. The command line and the server are built on it:
//
//   auto session = Session::open("smollm2.ingot", options);
//   Request request;
//   request.promptIds = (*session)->encodePrompt("Once upon a time");
//   request.maxTokens = 64;
//   auto id = (*session)->submit(std::move(request));
//   (*session)->runUntilDone();
//   Completion answer = (*session)->take(*id);
//
// All requests that are submitted before or during runUntilDone() share its steps (continuous
// batching, runtime/schedule). The answer to a request does not depend on the others
// (for GPUs see docs/numerics.md).
//
// validate() rejects every request that could fail later, with numbers in the message, and submit()
// runs it for a plain Request; a step itself fails only if the device does. A session is used from
// one thread; only the `cancel` flag of a request may be set from another thread or from a signal
// handler.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/GpuOptions.h"
#include "runtime/error/Error.h"
#include "runtime/schedule/ScheduleStats.h"
#include "runtime/session/Device.h"
#include "runtime/session/ValidatedRequest.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::fb {
struct Engine;
struct Program;
} // namespace ingot::fb

namespace ingot::runtime {

class EngineFile;
class Executor;
struct MemoryPlan; // runtime/engine/Inspect.h

/// Limits are fixed when the session opens, which allocates all memory (or refuses with E0502 and
/// the sum). For values of 0, see the comments.
struct SessionOptions {
  int64_t context =
      0; ///< positions that a sequence may have; 0: min(the model's, 4096, what memory allows)
  int64_t maxSeqs = 1; ///< sequences in one step
  /// Tokens in one step; raised to maxSeqs if that is larger. 0: 512; on GPUs 2048, halved down to
  /// 512 as long as activations of that many take more than a sixteenth of the free memory.
  int64_t maxBatchTokens = 0;
  /// Logits rows in one step; 0: maxSeqs. logits() and score() process a prompt in chunks of this
  /// many positions: use 64 or more for them.
  int64_t logitsRows = 0;
  uint64_t kvMemoryBytes =
      0; ///< for KV pages, shared by all; 0: kvShare, or as many as maxSeqs * context needs
  /// The fraction of the free memory that KV pages take; on a GPU, of the memory left after
  /// everything else. 0: not used.
  double kvShare = 0;
  int threads = 0;           ///< 0: all processors that this process may use
  std::string device;        ///< the name of a device; empty: the CPU, unless the engine only has
                             ///< code for GPUs. Errors: E0501
  cuda::GpuOptions gpu;      ///< how work runs on the device, if it is a GPU
  std::string isa;           ///< "avx2", "avx512"; empty: the best that this machine supports
  int64_t prefillChunk = 0;  ///< maximum number of tokens of one prompt in one step; 0:
                             ///< maxBatchTokens
  bool loadTokenizer = true; ///< false: ids only, for a faster start
  bool verify = false;       ///< check every byte of the file before it is used
  bool prefixCache = true;   ///< requests reuse the KV pages of earlier ones with the same prefix
  uint64_t swapBytes = 0; ///< host memory for the KV pages of preempted requests; 0: the pages are
                          ///< recomputed
  bool lock = false;      ///< on a CPU, weights and memory are never paged out (E0509)
  bool fair = false;      ///< among requests of equal priority, the user (Request::user) who was
                          ///< served least goes first
  bool balance = true;    ///< prompts are cut so that running answers keep their pace
                          ///< (ChunkBudget.h)
  double targetItl = 0;   ///< target seconds between two ids of an answer, and
  double targetTtft = 0;  ///< until the first: prompts are cut to meet these instead; 0: none
  /// Host memory for the hidden states of contrastive searches in progress, allocated on demand
  /// (StateMemory.h).
  uint64_t stateBytes = uint64_t(256) << 20;
  std::string traceFile; ///< Chrome trace of every launch, written by writeTrace() or when the
                         ///< session closes
  /// Wraps the device's executor; the session uses the result instead. Empty: no wrapper. It lets
  /// tests make a device fail.
  std::function<std::unique_ptr<Executor>(std::unique_ptr<Executor>)> around;
};

/// The device on which a session with these options runs `engine`. The options' device is a name, or
/// empty.
Device deviceOf(const SessionOptions &options, const fb::Engine &engine);
/// Bytes of KV pages that an engine could use with these options: all sequences at their maximum
/// length. On a CPU only; 0 elsewhere, where the free memory determines the size.
Result<uint64_t> kvNeed(const std::string &path, const SessionOptions &options);

enum class FinishReason : uint8_t { Stop, Length, Cancelled };
/// "stop", "length", "cancelled": as in JSON.
std::string_view finishReasonName(FinishReason reason);

/// How to read a prompt's text. The tokenizer's prefix is BOS or other ids (SpecialTokens::prefix).
enum class PromptText : uint8_t {
  Plain,    ///< special strings are recognised, after the tokenizer's prefix: as encodePrompt()
  Embedded, ///< like Plain, and the tokenizer's suffix follows the text: for an embedding
  Rendered, ///< special strings are recognised: for a rendered chat template, which has its own BOS
  Literal,  ///< taken literally
};

struct Timings {
  double loadMs = 0;    ///< open() of the session
  double queueMs = 0;   ///< from submit() to its first step
  double ttftMs = 0;    ///< from submit() to the first new id
  double promptTps = 0; ///< prompt tokens computed (not cached) per second, up to the first new id
  double decodeTps = 0; ///< new ids after the first, per second; 0 if there are none
};

struct Completion {
  std::vector<int32_t> promptIds;
  std::vector<int32_t> ids;     ///< new ids only, without a stop id
  std::string text;             ///< text of `ids`, cut before a stop string; empty without a
                                ///< tokenizer
  std::string stopString;       ///< the stop string that ended it, if any
  int64_t reasoningTokens = 0;  ///< if Request::chat is set
  int32_t toolCalls = 0;        ///< likewise: number of calls in the answer
  int32_t stopId = -1;          ///< the stop id that ended it; -1: none
  int64_t drawn = 0;            ///< number of ids drawn, including a stop id
  std::optional<Error> failure; ///< why it was cancelled, if not by the client: E0623
  FinishReason finishReason = FinishReason::Stop;
  std::vector<std::vector<TokenLogprob>> logprobs; ///< per id, if requested
  std::vector<float> embedding;                    ///< [hidden], with length 1; empty unless
                                                   ///< requested
  int64_t cachedTokens = 0;                        ///< prompt tokens found in the prefix cache
  Timings timings;
};

struct Score {
  std::vector<double> nll; ///< [ids - 1]; nll[i] = -log p(ids[i+1] | ids[0..i])
  double perplexity = 0;   ///< exp(mean(nll))
  int64_t kvSaturated = 0; ///< number of K and V values that exceed an f16 KV cache's range
                           ///< (KvSaturation.h)
};

using RequestId = int64_t;

class Session {
public:
  /// Opens, verifies (header and table) and maps the engine, and allocates all memory. Errors: those of
  /// EngineFile::open (E03xx, exit code 3); E0501 invalid limits (exit code 2); E0502 too little memory,
  /// E0507 memory ran out while opening, E0509 memory cannot be locked (exit code 3); E07xx (exit code 4):
  /// the device is not available, does not fit the engine, or has too little memory.
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const SessionOptions &options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const EngineFile &engine() const;
  /// The engine's program that this session runs: its kernels, buffers, weights.
  const fb::Program &program() const;
  /// Null if the engine has none or it was not requested.
  const text::Tokenizer *tokenizer() const;
  int64_t vocab() const;
  int64_t context() const; ///< the limit in force
  /// Maximum number of new ids that context and KV memory allow after that many prompt ids: at
  /// least 1.
  int64_t mostNewIds(int64_t promptIds) const;
  int64_t maxSeqs() const;
  int threads() const;
  std::string_view target() const; ///< target of the code that runs: "cpu:avx512", "cuda:sm_90a"
  std::string device() const;      ///< the device: "2 threads", "NVIDIA H200"
  std::string remark() const;      ///< a remark for the user about that choice; usually empty
  /// The limits in force and the bytes that were allocated, by part.
  const MemoryPlan &memory() const;
  /// Seconds that a step at all limits takes, according to the engine's costs; 0 if it has none.
  double longestStep() const;
  double loadMs() const;
  /// The engine's generation defaults (generation_config.json): greedy unless they ask for
  /// sampling.
  SamplingParams defaultSampling() const;

  /// The tokenizer's tokens that chat templates may write: `bos_token` and others.
  text::ChatTemplate::Options templateTokens() const;

  /// Ids of a plain prompt: special strings are recognised, and the engine's prefix (BOS or other
  /// ids) precedes the text. E0520 without a tokenizer.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// Ids of a text that is a prompt, or a part of one. E0505 if there are more than the context
  /// holds: for a long text this is detected without computing all of them
  /// (Tokenizer::encodeWithin).
  Result<std::vector<int32_t>> encodeToFit(std::string_view text,
                                           PromptText kind = PromptText::Plain) const;

  /// E0505 for a text of `bytes` bytes that has more ids than the context holds.
  Error tooLong(size_t bytes) const;

  static constexpr int32_t kMostChoices = 128;
  /// Checks everything about a request that does not depend on others, once: submit() takes the
  /// result. Several choices (SamplingParams::choice, +1, …) share the prompt's computation; each
  /// answer begins with the same logits and continues independently. May be called from any thread.
  /// Errors (exit code 2): E0501 `choices` is not in 1 to kMostChoices, or another number is out of
  /// range, E0503 empty prompt, E0504 id outside the vocabulary, E0505 prompt (with maxTokens)
  /// beyond the context, E0506 beyond the KV memory, E0510 invalid sampling value, E0520 stop
  /// strings or a grammar without a tokenizer, E0522 no hidden states, E0575 an empty forbidden
  /// word; for a search: E0530 to E0536 its values and limits.
  Result<ValidatedRequest> validate(Request request, int32_t choices = 1) const;
  /// Returns the same request with another prompt, and without hooks. Only what depends on the
  /// prompt is checked. May be called from any thread.
  Result<ValidatedRequest> validate(const ValidatedRequest &like,
                                    std::vector<int32_t> promptIds) const;
  /// Refuses requests of one client (E0534) that would keep more hidden states than the limit if all
  /// were in progress at once. May be called from any thread.
  Result<void> validateTogether(std::span<const ValidatedRequest> requests) const;
  /// Reserves the shared memory that the request's search needs. submit() does so unless it was
  /// done before. E0560: that memory is not free. May be called from any thread.
  Result<void> reserveStates(ValidatedRequest &request) const;
  /// Queues a request, and returns an id for each of its choices. Errors: E0560 as reserveStates(),
  /// and failure().
  Result<std::vector<RequestId>> submit(ValidatedRequest request);
  /// Runs validate() and submit().
  Result<std::vector<RequestId>> submit(Request request, int32_t choices);
  Result<RequestId> submit(Request request);
  /// Current counts of requests, pages and steps.
  ScheduleStats stats() const;
  /// How much of SessionOptions::stateBytes is in use. Any thread.
  uint64_t stateBytesUsed() const;
  /// Runs one step of the batch. Returns false if nothing is left to do or the device failed.
  bool step();
  /// Called between steps when there is time: prepares resources that a step would otherwise wait
  /// for (graphs), or has the system commit a piece of the memory that KV pages will need next. It
  /// takes a few milliseconds. Returns false if everything is ready and enough memory is committed
  /// (kKvAhead).
  bool workAhead();
  static constexpr uint64_t kKvAhead = uint64_t(512)
                                       << 20; ///< bytes after the pages touched so far
  /// Why the device failed, E07xx: every request in progress has ended as cancelled, and no other
  /// can be submitted. Null if it has not failed.
  const Error *failure() const;
  /// Runs steps until every request has finished.
  void runUntilDone();
  /// Whether `id` has taken part in a step.
  bool started(RequestId id) const;
  /// True once `id` has finished and take() may be called.
  bool finished(RequestId id) const;
  /// Returns the answer and forgets the request.
  Completion take(RequestId id);

  /// Passes the logits after each of `ids` to the sink, in order, in chunks: `rows` rows of vocab()
  /// floats starting at position `first`; row r is data + r * stride. No BOS is added. No other request
  /// may be in progress. Errors as for submit().
  using LogitsSink =
      std::function<void(int64_t first, int64_t rows, const float *data, int64_t stride)>;
  Result<void> logits(std::span<const int32_t> ids, const LogitsSink &sink,
                      const std::atomic<bool> *cancel = nullptr);
  /// Log-softmax in double. Requires two ids or more (E0503).
  Result<Score> score(std::span<const int32_t> ids);

  /// Seconds spent in each kernel since open, summed over threads; recorded only if a trace was
  /// requested or profile(true) was called.
  struct KernelTime {
    std::string kernel;
    double seconds;
    uint64_t launches;
    int64_t readAhead; ///< from Executor::readAhead()
  };
  void profile(bool on);
  std::vector<KernelTime> kernelTimes() const;
  /// Number of tokens that each layer has routed to each of its experts since profile(true); empty if no
  /// layer has experts.
  struct ExpertLoad {
    int32_t layer;
    std::vector<uint64_t> tokens; ///< by expert
  };
  std::vector<ExpertLoad> expertLoads() const;
  /// Writes options.traceFile now; does nothing if none was requested. E0703.
  Result<void> writeTrace();

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  Result<void> checkSettings(const RequestSettings &settings, int32_t choices) const;
  Result<ValidatedRequest> fitted(ValidatedRequest request) const;
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::runtime
