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
// validate() rejects every request that could fail later, with numbers in the message. For a plain
// Request, submit() calls it. A step fails only if the device does. A session is used from one thread.
// Only the `cancel` flag of a request may be set from another thread or from a signal handler.
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

/// Options of a session. Its limits are fixed when it opens. open() allocates all memory, or fails with
/// E0502, which states the sum. The comments say what a value of 0 means.
struct SessionOptions {
  /// Maximum number of positions of a sequence; 0: the minimum of the model's context, 4096, and as many positions as
  /// fit in memory.
  int64_t context = 0;
  int64_t maxSeqs = 1; ///< sequences in one step
  /// Tokens in one step; raised to maxSeqs if that is larger. 0: 512 on a CPU. On a GPU, 0 means 2048,
  /// which is halved, down to 512 at least, while the activations of that many tokens take more than a
  /// sixteenth of the free memory.
  int64_t maxBatchTokens = 0;
  /// Logits rows in one step; 0: maxSeqs. logits() and score() process a prompt in chunks of this many
  /// positions, so use 64 or more for them.
  int64_t logitsRows = 0;
  /// Bytes of KV pages, which all sequences share; 0: kvShare decides or, if that is 0 too, as many as
  /// maxSeqs * context positions need.
  uint64_t kvMemoryBytes = 0;
  /// The fraction of the free memory that KV pages take. On a GPU, it is a fraction of the memory left
  /// after everything else. 0: not used.
  double kvShare = 0;
  int threads = 0;           ///< 0: all processors that this process may use
  std::string device;        ///< the name of a device; empty: the CPU, unless the engine only has
                             ///< code for GPUs. Errors: E0501
  cuda::GpuOptions gpu;      ///< how work runs on the device, if it is a GPU
  std::string isa;           ///< "avx2", "avx512"; empty: the best that this machine supports
  int64_t prefillChunk = 0;  ///< maximum number of tokens of one prompt in one step; 0:
                             ///< maxBatchTokens
  bool loadTokenizer = true; ///< false: only token ids can be used, and the start is faster
  bool verify = false;       ///< check every byte of the file before it is used
  bool prefixCache = true;   ///< requests reuse the KV pages of earlier ones with the same prefix
  uint64_t swapBytes = 0; ///< host memory for the KV pages of preempted requests; 0: the pages are
                          ///< recomputed
  bool lock = false;      ///< on a CPU, weights and memory are never paged out (E0509)
  bool fair = false; ///< among requests of equal priority, the requests of the user (Request::user)
                     ///< who was served least go first
  bool balance = true; ///< prompts are cut so that running answers keep their pace
                       ///< (ChunkBudget.h)
  /// Target seconds between two tokens of an answer; 0: none. It replaces the rule of `balance`.
  double targetItl = 0;
  /// Target seconds from submit() to the first token; 0: none. Prompts get larger chunks to meet it.
  double targetTtft = 0;
  /// Host memory for the hidden states of contrastive searches in progress, allocated on demand
  /// (StateMemory.h).
  uint64_t stateBytes = uint64_t(256) << 20;
  std::string traceFile; ///< Chrome trace of every launch, written by writeTrace() or when the
                         ///< session closes
  /// Wraps the device's executor. The session uses the result instead; empty: no wrapper. Tests use
  /// this to make a device fail.
  std::function<std::unique_ptr<Executor>(std::unique_ptr<Executor>)> around;
};

/// Returns the device on which a session with these options runs `engine`.
Device deviceOf(const SessionOptions &options, const fb::Engine &engine);
/// Returns the size in bytes of KV pages that all sequences take at their maximum length with these options.
/// Returns 0 unless the device is a CPU, because elsewhere the free memory determines the size.
Result<uint64_t> kvNeed(const std::string &path, const SessionOptions &options);

enum class FinishReason : uint8_t { Stop, Length, Cancelled };
/// Returns "stop", "length" or "cancelled", as in JSON.
std::string_view finishReasonName(FinishReason reason);

/// Specifies how a prompt's text is encoded. The tokenizer's prefix is BOS or other tokens
/// (SpecialTokens::prefix).
enum class PromptText : uint8_t {
  Plain,    ///< as encodePrompt(): the prefix comes first, and special strings are recognised
  Embedded, ///< for an embedding: like Plain, and the tokenizer's suffix follows the text
  Rendered, ///< for a rendered chat template, which has its own BOS: special strings are recognised
  Literal,  ///< special strings are ordinary text
};

struct Timings {
  double loadMs = 0;  ///< duration of open()
  double queueMs = 0; ///< from submit() to its first step
  double ttftMs = 0;  ///< from submit() to the first new token
  double promptTps =
      0; ///< prompt tokens computed (not cached) per second, up to the first new token
  double decodeTps = 0; ///< new tokens after the first, per second; 0 if there are none
};

struct Completion {
  std::vector<int32_t> promptIds;
  std::vector<int32_t> ids;     ///< new tokens only, without a stop token
  std::string text;             ///< text of `ids`, cut before a stop string; empty without a
                                ///< tokenizer
  std::string stopString;       ///< the stop string that ended the answer, if any
  int64_t reasoningTokens = 0;  ///< number of tokens of reasoning, if Request::chat is set
  int32_t toolCalls = 0;        ///< number of calls in the answer, if Request::chat is set
  int32_t stopId = -1;          ///< the stop token that ended the answer; -1: none
  int64_t drawn = 0;            ///< number of sampled tokens, including a stop token
  std::optional<Error> failure; ///< why the answer was cancelled, if not by the client: E0623
  FinishReason finishReason = FinishReason::Stop;
  std::vector<std::vector<TokenLogprob>> logprobs; ///< per token, if requested
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
  /// Opens the engine, verifies its header and table, maps it, and allocates all memory. Errors:
  ///
  ///   - the errors of EngineFile::open: E03xx (exit code 3)
  ///   - E0501 (exit code 2): invalid limits
  ///   - E0502, E0507, E0509 (exit code 3): there is too little memory, memory ran out while opening, or
  ///     memory cannot be locked
  ///   - E07xx (exit code 4): the device is not available, does not fit the engine, or has too little
  ///     memory
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const SessionOptions &options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const EngineFile &engine() const;
  /// Returns the engine's program that this session runs: its kernels, buffers and weights.
  const fb::Program &program() const;
  /// Returns the tokenizer; null if the engine has none or it was not loaded.
  const text::Tokenizer *tokenizer() const;
  int64_t vocab() const;
  int64_t context() const; ///< the limit in force
  /// Returns the maximum number of new tokens that context and KV memory allow after that many prompt tokens,
  /// at least 1.
  int64_t mostNewIds(int64_t promptIds) const;
  int64_t maxSeqs() const;
  int threads() const;
  std::string_view target() const; ///< target of the code that runs: "cpu:avx512", "cuda:sm_90a"
  std::string device() const;      ///< the device: "2 threads", "NVIDIA H200"
  std::string remark() const;      ///< a remark for the user about target and device; usually empty
  /// Returns the limits in force and the bytes that were allocated, by part.
  const MemoryPlan &memory() const;
  /// Returns the seconds that a step at all limits takes according to the engine's costs; 0 if the
  /// engine has no costs.
  double longestStep() const;
  double loadMs() const;
  /// Returns the engine's generation defaults (generation_config.json), which are greedy unless that
  /// file enables sampling.
  SamplingParams defaultSampling() const;

  /// Returns the tokenizer's tokens that chat templates may write: `bos_token` and others.
  text::ChatTemplate::Options templateTokens() const;

  /// Encodes a plain prompt. Special strings are recognised, and the engine's prefix (BOS or other tokens)
  /// precedes the text. Fails with E0520 without a tokenizer.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// Encodes a text that is a prompt or a part of one. Fails with E0505 if it has more tokens than the
  /// context holds. For a long text, this is detected without computing all tokens
  /// (Tokenizer::encodeWithin).
  Result<std::vector<int32_t>> encodeToFit(std::string_view text,
                                           PromptText kind = PromptText::Plain) const;

  /// Returns E0505 for a text of `bytes` bytes that has more tokens than the context holds.
  Error tooLong(size_t bytes) const;

  static constexpr int32_t kMostChoices = 128;
  /// Checks everything about a request that does not depend on other requests. submit() takes the
  /// result and does not check it again. Several choices (SamplingParams::choice, +1, …) share the
  /// prompt's computation. Each answer begins with the same logits and continues independently. May be
  /// called from any thread. Errors (exit code 2):
  ///
  ///   - E0501: `choices` is not in 1 to kMostChoices, or another number is out of range
  ///   - E0503: the prompt is empty
  ///   - E0504: a token is outside the vocabulary
  ///   - E0505, E0506: the prompt (with maxTokens) exceeds the context or the KV memory
  ///   - E0510: a sampling value is invalid
  ///   - E0520: stop strings or a grammar need a tokenizer
  ///   - E0522: there are no hidden states
  ///   - E0530 to E0536: values or limits of a search are invalid
  ///   - E0575: a forbidden word is empty
  Result<ValidatedRequest> validate(Request request, int32_t choices = 1) const;
  /// Returns the same request with another prompt, and without hooks. Checks only properties that depend
  /// on the prompt. May be called from any thread.
  Result<ValidatedRequest> validate(const ValidatedRequest &like,
                                    std::vector<int32_t> promptIds) const;
  /// Fails with E0534 if these requests of one client, all in progress at once, would keep more hidden
  /// states than the limit. May be called from any thread.
  Result<void> validateTogether(std::span<const ValidatedRequest> requests) const;
  /// Reserves the shared memory that the request's search needs. submit() does so unless it was done
  /// before. Fails with E0560 if that memory is not free. May be called from any thread.
  Result<void> reserveStates(ValidatedRequest &request) const;
  /// Queues a request, and returns an id for each of its choices. Fails with E0560 as reserveStates()
  /// does, and with failure() if the device has failed.
  Result<std::vector<RequestId>> submit(ValidatedRequest request);
  /// Runs validate() and submit().
  Result<std::vector<RequestId>> submit(Request request, int32_t choices);
  Result<RequestId> submit(Request request);
  /// Returns the current counts of requests, pages and steps.
  ScheduleStats stats() const;
  /// Returns how much of SessionOptions::stateBytes is in use. May be called from any thread.
  uint64_t stateBytesUsed() const;
  /// Runs one step of the batch. Returns false if nothing is left to do or the device failed.
  bool step();
  /// Does work that a later step would otherwise wait for. It is called between steps when there is
  /// time. It prepares CUDA graphs, or has the system commit a piece of the memory that KV pages will
  /// need next. A call takes a few milliseconds. Returns false if everything is ready and enough memory
  /// is committed (kKvAhead).
  bool workAhead();
  static constexpr uint64_t kKvAhead = uint64_t(512)
                                       << 20; ///< bytes after the pages touched so far
  /// Returns the error (E07xx) if the device has failed, otherwise null. After a failure, every request
  /// in progress has ended as cancelled, and no other can be submitted.
  const Error *failure() const;
  /// Runs steps until every request has finished.
  void runUntilDone();
  /// Returns whether `id` has taken part in a step.
  bool started(RequestId id) const;
  /// Returns true once `id` has finished and take() may be called.
  bool finished(RequestId id) const;
  /// Returns the answer and forgets the request.
  Completion take(RequestId id);

  /// Passes the logits after each of `ids` to the sink, in order, in chunks. A chunk has `rows` rows of
  /// vocab() floats, starting at position `first`; row r is at data + r * stride. No BOS is added. No other request may
  /// be in progress. Errors: all errors of submit().
  using LogitsSink =
      std::function<void(int64_t first, int64_t rows, const float *data, int64_t stride)>;
  Result<void> logits(std::span<const int32_t> ids, const LogitsSink &sink,
                      const std::atomic<bool> *cancel = nullptr);
  /// Scores a text with a log-softmax in double. Fails with E0503 for fewer than two tokens.
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
  /// The number of tokens that each layer has routed to each of its experts since profile(true). The
  /// list is empty if no layer has experts.
  struct ExpertLoad {
    int32_t layer;
    std::vector<uint64_t> tokens; ///< by expert
  };
  std::vector<ExpertLoad> expertLoads() const;
  /// Writes options.traceFile now, or does nothing if none was requested. Fails with E0703.
  Result<void> writeTrace();

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  Result<void> checkSettings(const RequestSettings &settings, int32_t choices) const;
  Result<ValidatedRequest> fitted(ValidatedRequest request) const;
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::runtime
