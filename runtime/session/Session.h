//===- Session.h - One engine, loaded, answering requests -----------------===//
//
// A Session owns an engine file, the device that runs it, its tokenizer (if it
// has one) and a scheduler. The command line and the server are written on it:
//
//   auto session = Session::open("smollm2.ingot", options);
//   Request request;
//   request.promptIds = (*session)->encodePrompt("Once upon a time");
//   request.maxTokens = 64;
//   auto id = (*session)->submit(std::move(request));
//   (*session)->runUntilDone();
//   Completion answer = (*session)->take(*id);
//
// All requests that are submitted before or during runUntilDone() share its
// steps (continuous batching, runtime/schedule). What a request answers does
// not depend on the others (design.md part 5).
//
// Everything a request could run into is refused by submit(), with numbers;
// a step itself cannot fail. A session is used from one thread; only the
// `cancel` flag of a request may be set from another one or from a signal
// handler.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/GpuOptions.h"
#include "runtime/error/Error.h"
#include "runtime/sample/IdRules.h"
#include "runtime/sample/SamplingParams.h"
#include "runtime/schedule/ScheduleStats.h"
#include "runtime/session/search/SearchParams.h"
#include "runtime/text/ChatOutput.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::text {
class Grammar;
} // namespace ingot::text

namespace ingot::fb {
struct Engine;
struct Program;
} // namespace ingot::fb

namespace ingot::runtime {

class EngineFile;
class Executor;
struct MemoryStatement; // runtime/engine/Inspect.h

/// Limits are fixed when the session opens: all memory is taken (or refused,
/// E0502, with the sum) there. Values of 0 mean what the comment says.
struct SessionOptions {
  int64_t context =
      0; ///< positions a sequence may have; 0: min(the model's, 4096, what memory allows)
  int64_t maxSeqs = 1; ///< sequences in one step
  /// Tokens in one step; raised to maxSeqs if that is more. 0: 512; on GPUs 2048, halved down to
  /// 512 while activations of that many take more than a sixteenth of the free memory.
  int64_t maxBatchTokens = 0;
  /// Logits rows in one step; 0: maxSeqs. logits() and score() go through a
  /// prompt in chunks of this many: give 64 or more for them.
  int64_t logitsRows = 0;
  uint64_t kvMemoryBytes =
      0; ///< for KV pages, shared by all; 0: kvShare, or as many as maxSeqs * context takes
  /// KV pages take this part of the free memory; of a GPU's, of what all else leaves. 0: none.
  double kvShare = 0;
  int threads = 0;           ///< 0: every processor this process may use
  std::string device;        ///< "cpu", "cuda", "cuda-emulator"; empty: the CPU, unless the
                             ///< engine has code for GPUs alone
  cuda::GpuOptions gpu;      ///< how it works there, if that is a GPU
  std::string isa;           ///< "avx2", "avx512"; empty: the best this machine has
  int64_t prefillChunk = 0;  ///< most tokens of one prompt in one step; 0: maxBatchTokens
  bool loadTokenizer = true; ///< false: ids only, for a quicker start
  bool verify = false;       ///< every byte of the file is checked before it is used
  bool prefixCache = true;   ///< requests find the KV pages of others that began alike
  uint64_t swapBytes = 0; ///< of host memory for the KV pages of requests that were preempted; 0:
                          ///< they are computed again
  bool lock = false;      ///< on a CPU weights and memory are never paged out (E0509)
  bool fair = false;      ///< among requests of one priority, the user (Request::user) who was
                          ///< served least goes first
  bool balance = true;    ///< prompts are cut so that answers keep their pace (ChunkBudget.h)
  double targetItl = 0;   ///< seconds between two ids of an answer, and
  double targetTtft = 0;  ///< to the first: prompts are cut for them instead; 0: none
  /// Of host memory for hidden states that contrastive searches under way keep, taken as they come
  /// (StateMemory.h).
  uint64_t stateBytes = uint64_t(256) << 20;
  std::string traceFile; ///< Chrome trace of every launch, written by writeTrace() or when the
                         ///< session closes
  /// What stands between the session and its device from now on, made of the device's own
  /// executor; empty: nothing. So that tests can have a device fail.
  std::function<std::unique_ptr<Executor>(std::unique_ptr<Executor>)> around;
};

/// Where a session with these options runs an engine with that table: as SessionOptions::device.
std::string deviceOf(const SessionOptions &options, const fb::Engine &engine);
/// Bytes of KV pages that an engine could use with these options: all sequences at their longest.
/// On a CPU; 0 elsewhere, where memory is taken as it is found.
Result<uint64_t> kvNeed(const std::string &path, const SessionOptions &options);

enum class FinishReason : uint8_t { Stop, Length, Cancelled };
/// "stop", "length", "cancelled": as in JSON.
std::string_view finishReasonName(FinishReason reason);

/// What onToken sees: called once per new id, on the session's thread, and
/// once more at the end with id -1 if held-back text is left. `text` may be
/// empty (an incomplete UTF-8 sequence or a possible stop string is held back)
/// and is valid during the call only.
struct TokenEvent {
  int32_t id;
  std::string_view text;
  std::span<const text::OutputPiece>
      pieces;                             ///< what the text means, where Request::chat asks for it
  std::span<const TokenLogprob> logprobs; ///< the chosen id, then the likeliest; empty unless asked
  uint32_t choice = 0;                    ///< SamplingParams::choice of the answer
  int64_t cachedTokens = 0;               ///< of the prompt, found in the prefix cache
};

/// How much of a prompt is there before a step that computes more of it, in tokens.
struct PromptProgress {
  int64_t computed; ///< those found in the prefix cache among them
  int64_t cached;
};

/// What onLogits sees: a row of logits before an id is drawn from it.
struct LogitsRow {
  uint32_t choice;              ///< SamplingParams::choice of the request
  std::span<const int32_t> ids; ///< new ones so far
  std::span<float> logits;      ///< [vocab]: what is left there is drawn from
};

/// How a prompt's text is read.
enum class PromptText : uint8_t {
  Plain, ///< special strings recognised, BOS or what else the tokenizer puts there before it: as encodePrompt()
  Embedded, ///< so, and what the tokenizer puts behind a text: for an embedding
  Rendered, ///< special strings recognised: by a chat template, which has its own BOS
  Literal,  ///< as it stands
};

/// Which of a prompt's hidden states (after the last norm) an embedding is made of.
enum class Pooling : uint8_t {
  None, ///< an answer is wanted, no embedding
  Last, ///< the last token's
  Mean, ///< the mean of all
};

struct Request {
  std::vector<int32_t> promptIds; ///< used as they are: nothing is added
  SamplingParams sampling;
  int64_t maxTokens = -1;               ///< new ids at most; -1: as many as the context leaves
  std::vector<int32_t> stopIds;         ///< besides the engine's eos ids
  bool ignoreEos = false;               ///< the engine's eos ids do not end the answer
  bool showSpecial = false;             ///< special tokens appear in the text, spelled out
  std::vector<std::string> stopStrings; ///< never shown, not even in part; need a tokenizer
  /// The answer is a chat's: its text is read as content, reasoning and calls. Stop strings are
  /// those of the reading then, and `stopStrings` is empty.
  std::shared_ptr<const text::ChatReading> chat;
  bool showStop =
      false; ///< but for the one that ends the answer, which is shown (an id's text, too)
  bool tellProgress = false; ///< onProgress hears how far the prompt is; not in a search
  bool tellStop = false;     ///< onToken hears of the id that ends the answer
  IdRules ids;               ///< that may be drawn, besides what `grammar` says; not in a search
  /// Log-probabilities of each id of the prompt but the first, and of so many of the likeliest in
  /// its place; -1: none are wanted. The prompt takes a row of logits for each of its ids then, and
  /// no pages of the prefix cache.
  int32_t promptLogprobs = -1;
  bool promptOnly = false; ///< nothing is drawn: the answer ends with the prompt (maxTokens 0)
  /// Not None: no ids are drawn, Completion::embedding is what is wanted; maxTokens is without
  /// effect.
  Pooling pooling = Pooling::None;
  /// Instead of drawing ids: the answers that are likeliest as a whole, which come at the end, best
  /// first; or one that does not repeat itself. Of `sampling`, logitBias and topLogprobs are looked
  /// at. One of the two, at most.
  std::optional<BeamParams> beams;
  std::optional<ContrastiveParams> contrastive;
  std::shared_ptr<const void> stateMemory; ///< by prepare()
  /// What the answer must match; needs a tokenizer. Null: any text.
  std::shared_ptr<const text::Grammar> grammar;
  std::function<void(const TokenEvent &)> onToken;
  /// Called once where promptLogprobs asks for it, before the first new id: one of each id of the
  /// prompt but the first.
  std::function<void(std::vector<PromptScore>)> onPrompt;
  /// Called before each step that computes a part of the prompt, on the session's thread, where
  /// tellProgress asks for it.
  std::function<void(const PromptProgress &)> onProgress;
  /// Called before each draw, on the session's thread, and may change the row: bias, penalties and
  /// filters apply to what it leaves, log-probabilities are of it. -inf rules an id out; where
  /// nothing is left the lowest id is drawn. Steps with such a row draw on the host. In a search it
  /// sees the row of each sequence, by the number of its place as `choice`.
  std::function<void(const LogitsRow &)> onLogits;
  const std::atomic<bool> *cancel =
      nullptr;             ///< ends the request within one step when it turns true
  int32_t priority = 0;    ///< lower goes first, and may take the place of a higher one
  int64_t user = 0;        ///< whose share it counts to (SessionOptions::fair)
  bool cachePrefix = true; ///< uses the prefix cache, and leaves its pages there
  uint64_t cacheSalt = 0;  ///< meets only pages of requests with the same
};

struct Timings {
  double loadMs = 0;    ///< open() of the session
  double queueMs = 0;   ///< submit() to its first step
  double ttftMs = 0;    ///< submit() to the first new id
  double promptTps = 0; ///< prompt tokens computed (not cached) per second up to the first new id
  double decodeTps = 0; ///< new ids after the first, per second; 0 if there are none
};

struct Completion {
  std::vector<int32_t> promptIds;
  std::vector<int32_t> ids;     ///< new ones only; a stop id is not among them
  std::string text;             ///< of `ids`, cut before a stop string; empty without a tokenizer
  std::string stopString;       ///< that ended it, if one did
  int64_t reasoningTokens = 0;  ///< of Request::chat
  int32_t toolCalls = 0;        ///< likewise: calls that the answer holds
  int32_t stopId = -1;          ///< likewise; -1: none did
  int64_t drawn = 0;            ///< ids that were drawn, a stop id among them
  std::optional<Error> failure; ///< why it was cancelled, if not by its maker: E0623
  FinishReason finishReason = FinishReason::Stop;
  std::vector<std::vector<TokenLogprob>> logprobs; ///< per id, if asked
  std::vector<float> embedding;                    ///< [hidden], of length 1; empty unless asked
  int64_t cachedTokens = 0;                        ///< of the prompt, found in the prefix cache
  Timings timings;
};

struct Score {
  std::vector<double> nll; ///< [ids - 1]; nll[i] = -log p(ids[i+1] | ids[0..i])
  double perplexity = 0;   ///< exp(mean(nll))
  int64_t kvSaturated = 0; ///< values of K and V beyond what an f16 KV cache holds (KvSaturation.h)
};

using RequestId = int64_t;

class Session {
public:
  /// Opens, verifies (header and table) and maps the engine, takes all memory.
  /// Errors: those of EngineFile::open (E03xx, exit 3); E0501 limits that make
  /// no sense (exit 2); E0502 memory, E0507 none left meanwhile, E0509 none to lock (exit 3); E07xx (exit 4): the
  /// device is not there, does not fit the engine, or has too little memory.
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const SessionOptions &options = {});
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const EngineFile &engine() const;
  /// The program of the engine that runs: its kernels, buffers, weights.
  const fb::Program &program() const;
  /// Null if the engine has none or it was not asked for.
  const text::Tokenizer *tokenizer() const;
  int64_t vocab() const;
  int64_t context() const; ///< the limit in force
  /// New ids that context and KV memory leave behind so many prompt ids: at least 1.
  int64_t mostNewIds(int64_t promptIds) const;
  int64_t maxSeqs() const;
  int threads() const;
  std::string_view target() const; ///< "cpu:avx512", "cuda:sm_90a": the code that runs
  std::string device() const;      ///< who runs it: "2 threads", "NVIDIA H200"
  std::string remark() const;      ///< what a user should know of that choice; mostly empty
  /// The limits in force and the bytes that were taken, by part.
  const MemoryStatement &memory() const;
  /// Seconds that a step at all limits takes, by the engine's costs; 0 where it has none.
  double longestStep() const;
  double loadMs() const;
  /// The engine's generation defaults (generation_config.json): greedy unless
  /// it asks for sampling.
  SamplingParams defaultSampling() const;

  /// What chat templates may write of the tokenizer's tokens: `bos_token` and others.
  text::ChatTemplate::Options templateTokens() const;

  /// Ids of a plain prompt, special strings recognised, BOS or what else the engine puts
  /// there before it. E0520 without a tokenizer.
  Result<std::vector<int32_t>> encodePrompt(std::string_view text) const;
  /// Ids of a text that is to be a prompt, or a part of one. E0505 where they are more than the
  /// context: of a long text that is found without all of them (Tokenizer::encodeWithin).
  Result<std::vector<int32_t>> encodeToFit(std::string_view text,
                                           PromptText kind = PromptText::Plain) const;

  /// What that says of a text of so many bytes.
  Error tooLong(size_t bytes) const;

  /// What submit() would refuse of a request, without queueing it. May be called from any thread.
  Result<void> validate(const Request &request) const;
  /// The same of a request with each of several prompts, all under way at once: E0534 also where
  /// they keep more hidden states together than there can be.
  Result<void> validateTogether(const Request &request,
                                std::span<const std::vector<int32_t>> prompts) const;
  /// validate(), and takes what a search needs of memory that all share (Request::stateMemory), so
  /// that submit() finds it there. E0560: it is not free now. May be called from any thread.
  Result<void> prepare(Request &request) const;
  /// Queues a request. Errors (exit 2): E0503 empty prompt, E0504 id outside
  /// the vocabulary, E0505 prompt (with maxTokens) beyond the context, E0506
  /// beyond the KV memory, E0510 sampling value, E0520 stop strings without a
  /// tokenizer; of a search: E0522 no hidden states, E0530 to E0534 its values and limits, E0560.
  Result<RequestId> submit(Request request);
  /// The same with several answers: ids of choices SamplingParams::choice, +1, … The prompt is
  /// computed once; each answer begins with the same logits and goes on by itself. E0501 if
  /// `choices` is not 1 to kMostChoices, E0530 if it is more than a search has.
  static constexpr int32_t kMostChoices = 128;
  Result<std::vector<RequestId>> submit(Request request, int32_t choices);
  /// Of requests, pages and steps, as they are now.
  ScheduleStats stats() const;
  /// Of SessionOptions::stateBytes. Any thread.
  uint64_t stateBytesUsed() const;
  /// One step of the batch; false if there is nothing left to do, or the device failed.
  bool step();
  /// Between steps, where there is time: has the device make ready what a step would have to wait
  /// for (graphs), or the system give a piece of the memory that KV pages will need next. A few
  /// milliseconds. False: all is ready, and enough memory there (kKvAhead).
  bool workAhead();
  static constexpr uint64_t kKvAhead = uint64_t(512)
                                       << 20; ///< bytes behind the pages touched so far
  /// Why the device failed, E07xx: every request that was under way has ended as cancelled, and
  /// no other can be submitted. Null while all is well.
  const Error *failure() const;
  /// Steps until every request has finished.
  void runUntilDone();
  /// Whether `id` has taken part in a step.
  bool started(RequestId id) const;
  /// True once `id` has finished and take() may be called.
  bool finished(RequestId id) const;
  /// The answer; the session forgets the request.
  Completion take(RequestId id);

  /// Logits after each of `ids`, in order, in chunks: `rows` rows of vocab()
  /// floats from position `first` on; row r is data + r * stride. No BOS is added.
  /// Nothing else may be under way. Errors as submit().
  using LogitsSink =
      std::function<void(int64_t first, int64_t rows, const float *data, int64_t stride)>;
  Result<void> logits(std::span<const int32_t> ids, const LogitsSink &sink,
                      const std::atomic<bool> *cancel = nullptr);
  /// Log-softmax in double. Needs two ids or more (E0503).
  Result<Score> score(std::span<const int32_t> ids);

  /// Seconds spent in each kernel since open, summed over threads; filled only
  /// when a trace was asked for or profile(true) was called.
  struct KernelTime {
    std::string kernel;
    double seconds;
    uint64_t launches;
    int64_t readAhead; ///< of Executor::readAhead()
  };
  void profile(bool on);
  std::vector<KernelTime> kernelTimes() const;
  /// How many tokens each layer has sent to each of its experts since profile(true); empty if none has any.
  struct ExpertLoad {
    int32_t layer;
    std::vector<uint64_t> tokens; ///< by expert
  };
  std::vector<ExpertLoad> expertLoads() const;
  /// Writes options.traceFile now; nothing if none was asked for. E0703.
  Result<void> writeTrace();

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace ingot::runtime
