//===- ingot.hpp - The C++ interface of libingot ----------------------------===//
//
//   ingot::Executor executor("smollm2.ingot");
//
//   ingot::Request request;
//   request.prompt = "Once upon a time";
//   request.maxTokens = 64;
//   auto id = executor.enqueue(request).value();
//   std::cout << executor.await(id).value().front().text;
//
// Needs C++20, this header and ingot.h only. Everything is inline over the C interface, so a
// program may use another compiler, standard library or version than libingot.
//
// Every function may be called from any thread. Only Executor's constructor and Result::value()
// throw; with exceptions disabled they abort the program.
//===----------------------------------------------------------------------===//
#ifndef INGOT_HPP
#define INGOT_HPP

#include "ingot.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace ingot {
inline namespace v1 {

// -------------------------------------------------------------------- errors

/// An error: a stable code ("E0505"), what failed, why (with numbers), and how to fix it.
struct Error {
  ingot_status status = INGOT_INTERNAL;
  std::string code, what, why, fix;

  /// Returns the whole error in up to three lines.
  std::string text() const {
    std::string all = "error[" + code + "]: " + what + "\n";
    for (const std::string &line : {why, fix})
      if (!line.empty())
        all += "  " + line + "\n";
    return all;
  }
};

class Exception : public std::runtime_error {
public:
  explicit Exception(Error error) : std::runtime_error(error.text()), cause(std::move(error)) {}
  const Error &error() const { return cause; }

private:
  Error cause;
};

namespace detail {

[[noreturn]] inline void raise(const Error &error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  std::fputs(error.text().c_str(), stderr);
  std::abort();
#endif
}

inline Error read(const ingot_error *error) {
  if (!error)
    return {INGOT_INTERNAL, "E0507", "there is not enough memory", "", ""};
  return {ingot_error_status(error), ingot_error_code(error), ingot_error_what(error),
          ingot_error_why(error), ingot_error_fix(error)};
}

inline Error take(ingot_error *error) {
  Error out = read(error);
  ingot_error_free(error);
  return out;
}

struct Free {
  void operator()(void *memory) const { ingot_free(memory); }
};

} // namespace detail

/// A value or an error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  /// Returns the value; throws Exception if there is none.
  T &value() & { return need(), *std::get_if<0>(&state); }
  const T &value() const & { return need(), *std::get_if<0>(&state); }
  T value() && { return need(), std::move(*std::get_if<0>(&state)); }
  /// Returns the value, which must exist.
  T &operator*() { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  /// Returns the error, which must exist.
  const Error &error() const { return *std::get_if<1>(&state); }

private:
  void need() const {
    if (state.index() == 1)
      detail::raise(*std::get_if<1>(&state));
  }
  std::variant<T, Error> state;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failure(std::move(error)) {}
  explicit operator bool() const { return !failure; }
  void value() const {
    if (failure)
      detail::raise(*failure);
  }
  const Error &error() const { return *failure; }

private:
  std::optional<Error> failure;
};

// ----------------------------------------------------- configuration and requests

/// Limits of an engine. Opening the engine allocates all memory, or fails.
struct Config {
  int64_t context = 0;          ///< positions of a sequence; 0: min(the model's, 4096, what fits)
  int64_t maxSeqs = 8;          ///< sequences in one step
  int64_t maxBatchTokens = 512; ///< tokens in one step
  int64_t prefillChunk = 0;     ///< maximum tokens of one prompt in a step; 0: maxBatchTokens
  uint64_t kvMemory = 0;        ///< bytes of KV pages; 0: enough for maxSeqs * context
  uint64_t swapMemory = 0;      ///< host bytes for KV of preempted requests; 0: recompute it
  bool prefixCache = true;      ///< requests reuse the KV of others with the same prefix
  bool fair = false;            ///< of equal priorities, the share that was served least goes first
  double targetTtftMs = 0;      ///< target for the time to the first token; 0: none
  double targetItlMs = 0;       ///< target for the time between tokens during prefill; 0: none
  int64_t queueRequests = 256;  ///< requests that may wait, in addition to maxSeqs
  int64_t queueTokens = 1'000'000; ///< prompt tokens that may wait
  int32_t threads = 0;             ///< 0: one for each processor that this process may use
  bool loadTokenizer = true;       ///< false: token ids only, for a quicker start
  std::string device, isa;         ///< "cpu", "cuda", …; "avx2", …; "": as for NULL in ingot_config
  std::string chatTemplate;        ///< a Jinja template; "": the engine's
  bool lockMemory = false;         ///< weights, KV and working memory of a CPU are locked in RAM
  double stepLimit = 0; ///< seconds after which a step, hooks included, fails (E0725); 0: none
};

/// Describes how tokens are sampled. An unset field means the engine's default.
struct Sampling {
  std::optional<float> temperature; ///< 0: greedy
  std::optional<int32_t> topK;      ///< 0: all
  std::optional<float> topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty;
  float typicalP = 1;
  int32_t noRepeatNgram = 0; ///< no n-gram of this length occurs twice; 0: off
  uint64_t seed = 0;         ///< the same seed samples the same tokens
  std::vector<std::pair<int32_t, float>> logitBias;
  std::optional<int32_t>
      penaltyWindow; ///< penalties consider this many of the last tokens; -1: all
};

enum class Grammar : int32_t {
  None = INGOT_GRAMMAR_NONE,
  JsonObject = INGOT_GRAMMAR_JSON_OBJECT,
  JsonSchema = INGOT_GRAMMAR_JSON_SCHEMA,
  Regex = INGOT_GRAMMAR_REGEX,
  Lark = INGOT_GRAMMAR_LARK,
  Gbnf = INGOT_GRAMMAR_GBNF,
  Choice = INGOT_GRAMMAR_CHOICE,
};

enum class Finish : int32_t {
  None = INGOT_FINISH_NONE, ///< the answer goes on
  Stop = INGOT_FINISH_STOP,
  Length = INGOT_FINISH_LENGTH,
  Cancelled = INGOT_FINISH_CANCELLED,
  Error = INGOT_FINISH_ERROR,
};

/// When a beam search ends, once it has as many finished answers as beams.
enum class StopBeams : int32_t {
  WhenWorse = INGOT_STOP_WHEN_WORSE,   ///< when the best unfinished answer scores no better now
  Early = INGOT_STOP_EARLY,            ///< at once
  NeverEarly = INGOT_STOP_NEVER_EARLY, ///< when no unfinished answer can become better
};

/// Beam search for the answers that are likeliest as a whole. All come at the end, best first.
struct Beams {
  int32_t width = 4;       ///< 1 to 8; the best Request::choices answers are returned
  float lengthPenalty = 1; ///< answers rank by sum of logprobs / length^this
  StopBeams stop = StopBeams::WhenWorse;
};

/// Contrastive search: one answer in which tokens differ from earlier tokens. Each step picks, among the topK likeliest
/// tokens, the one with the largest (1 - alpha) * probability - alpha * similarity of hidden states.
struct Contrastive {
  float alpha = 0.6f; ///< above 0, at most 1
  int32_t topK = 4;   ///< 2 to 8
};

using RequestId = uint64_t;

struct Logprob {
  int32_t id;
  float logprob; ///< natural logarithm
};

/// The part of a choice's answer that is new since its last output.
struct Output {
  RequestId request = 0;
  int32_t choice = 0;
  Finish finish = Finish::None; ///< not None in the last output of this choice
  bool last = false;            ///< the last output of the request
  std::vector<int32_t> ids;     ///< new tokens, without a stop token
  std::string text;
  std::vector<std::vector<Logprob>> logprobs; ///< per id: the chosen one, then the likeliest
  std::string stopString;                     ///< the stop string that ended the choice, or ""
  int64_t promptTokens = 0, cachedTokens = 0, newTokens = 0;
  double queueMs = 0, ttftMs = 0, elapsedMs = 0;
  std::optional<v1::Error> error; ///< null without Finish::Error
};

/// A row of logits, before a token is sampled from it.
struct LogitsRow {
  RequestId request;
  int32_t choice;
  std::span<const int32_t> ids; ///< new tokens so far
  std::span<float> logits;      ///< [vocab]; may be edited before sampling
};

/// A request. Its prompt is exactly one of token ids, text and messages.
struct Request {
  std::vector<int32_t> promptIds; ///< used unchanged
  std::string prompt;             ///< special tokens are recognised; BOS is added if required
  std::string messages;           ///< JSON array of {"role","content"}, for the chat template
  std::string templateVariables;  ///< JSON object of other variables ("tools", …)
  bool trustContent = false;      ///< control tokens in messages and variables are not made text
  int64_t maxTokens = -1;         ///< maximum new tokens; -1: as many as the context allows
  int64_t minTokens = 0;
  std::vector<int32_t> stopIds;
  std::vector<std::string> stopStrings;
  std::vector<std::vector<int32_t>> badWords; ///< token sequences that the answer must not contain
  bool ignoreEos = false, showSpecial = false;
  Sampling sampling;
  /// A search instead of sampling; at most one of the two may be set. It uses only logitBias of
  /// `sampling`.
  std::optional<Beams> beams;
  std::optional<Contrastive> contrastive;
  int32_t choices = 1;
  int32_t logprobs = -1; ///< -1: none; 0: the chosen token's; k: also the k likeliest tokens'
  bool streaming = false;
  int32_t priority = 0;    ///< a lower number runs first and may preempt higher ones
  int64_t share = 0;       ///< the share that the request is charged to (Config::fair)
  bool prefixCache = true; ///< reads the prefix cache and adds pages to it
  uint64_t cacheSalt = 0;  ///< only finds cached pages of requests with the same salt
  Grammar grammarKind = Grammar::None;
  std::string grammar;
  /// Receives the outputs, which then cannot be awaited. Runs on a thread of the executor, one call at
  /// a time.
  std::function<void(const Output &)> onOutput;
  /// Called on the engine's thread before each token is sampled. All requests wait until it returns.
  std::function<void(const LogitsRow &)> onLogits;
};

// -------------------------------------------------------- statistics and model

struct Stats {
  int64_t running = 0, waiting = 0, kvPagesUsed = 0, kvPages = 0;
  uint64_t steps = 0, promptTokens = 0, newTokens = 0;
  uint64_t finishedStop = 0, finishedLength = 0, cancelled = 0, failed = 0, refused = 0;
  uint64_t preemptions = 0, prefixQueries = 0, prefixHits = 0;
  double stepSeconds = 0, ttftP50Ms = 0, ttftP99Ms = 0, itlP50Ms = 0, itlP99Ms = 0;
};

struct Model {
  std::string name, fingerprint, target, device, remark;
  int64_t vocab = 0, context = 0, maxSeqs = 0, maxBatchTokens = 0;
  int32_t threads = 0;
  bool hasTokenizer = false, hasChatTemplate = false;
  int32_t bos = -1; ///< -1: none
  std::vector<int32_t> eos;
  uint64_t mappedBytes = 0, allocatedBytes = 0, kvBytes = 0;
  double loadMs = 0;
};

namespace detail {

inline Output read(const ingot_output &from) {
  Output out;
  out.request = from.request;
  out.choice = from.choice;
  out.finish = Finish(from.finish_reason);
  out.last = from.is_last != 0;
  out.ids.assign(from.ids, from.ids + from.id_count);
  out.text.assign(from.text, from.text_size);
  if (from.logprobs_per_id)
    for (size_t i = 0; i < from.id_count; ++i) {
      auto &row = out.logprobs.emplace_back();
      for (size_t k = 0; k < from.logprobs_per_id; ++k) {
        const ingot_logprob &one = from.logprobs[i * from.logprobs_per_id + k];
        row.push_back({one.id, one.logprob});
      }
    }
  if (from.stop_string)
    out.stopString = from.stop_string;
  out.promptTokens = from.prompt_tokens;
  out.cachedTokens = from.cached_tokens;
  out.newTokens = from.new_tokens;
  out.queueMs = from.queue_ms;
  out.ttftMs = from.ttft_ms;
  out.elapsedMs = from.elapsed_ms;
  if (from.error)
    out.error = read(from.error);
  return out;
}

/// The callbacks of a request under way. They live until the request's last output.
struct Hooks : std::enable_shared_from_this<Hooks> {
  std::function<void(const Output &)> onOutput;
  std::function<void(const LogitsRow &)> onLogits;
  std::shared_ptr<Hooks> self; ///< keeps a request with onOutput alive until its last output

  static void output(void *user, const ingot_output *from) {
    auto *hooks = static_cast<Hooks *>(user);
    const Output out = read(*from);
    hooks->onOutput(out);
    if (out.last)
      hooks->self.reset();
  }
  static void logits(void *user, const ingot_logits_row *row) {
    // If the step is given up, the request may end while this hook still runs.
    const auto hooks = static_cast<Hooks *>(user)->shared_from_this();
    hooks->onLogits(
        {row->request, row->choice, {row->ids, row->id_count}, {row->logits, row->vocab}});
  }
};

} // namespace detail

// ------------------------------------------------------------------- executor

/// A loaded engine and the thread that runs it.
class Executor {
public:
  using Timeout = std::optional<std::chrono::milliseconds>; ///< none: no limit

  /// Opens an engine; throws Exception on failure. open() returns the error instead.
  explicit Executor(const std::string &path, const Config &config = {})
      : Executor(open(path, config).value()) {}
  static Result<Executor> open(const std::string &path, const Config &config = {}) {
    ingot_config c;
    ingot_config_init(&c, sizeof c);
    c.context = config.context;
    c.max_seqs = config.maxSeqs;
    c.max_batch_tokens = config.maxBatchTokens;
    c.prefill_chunk = config.prefillChunk;
    c.kv_memory = config.kvMemory;
    c.swap_memory = config.swapMemory;
    c.no_prefix_cache = !config.prefixCache;
    c.fair = config.fair;
    c.target_ttft_ms = config.targetTtftMs;
    c.target_itl_ms = config.targetItlMs;
    c.queue_requests = config.queueRequests;
    c.queue_tokens = config.queueTokens;
    c.threads = config.threads;
    c.no_tokenizer = !config.loadTokenizer;
    c.device = textOrNull(config.device);
    c.isa = textOrNull(config.isa);
    c.chat_template = textOrNull(config.chatTemplate);
    c.step_limit = config.stepLimit;
    c.lock_memory = config.lockMemory;
    ingot_executor *handle = nullptr;
    ingot_error *error = nullptr;
    if (ingot_executor_open(path.c_str(), &c, &handle, &error))
      return detail::take(error);
    return Executor(handle);
  }
  /// Cancels all requests and waits until they have ended. Must not run in a callback.
  ~Executor() = default;
  Executor(Executor &&) = default;
  Executor &operator=(Executor &&other) noexcept {
    handle = std::move(other.handle); // moved first, since requests under way may still call hooks
    kept = std::move(other.kept);
    return *this;
  }

  /// Reads a request and queues it. Errors: see ingot_enqueue.
  Result<RequestId> enqueue(const Request &request) {
    Arguments arguments(request);
    std::shared_ptr<detail::Hooks> hooks;
    if (request.onOutput || request.onLogits) {
      hooks = std::make_shared<detail::Hooks>();
      hooks->onOutput = request.onOutput;
      hooks->onLogits = request.onLogits;
      arguments.c.user = hooks.get();
      if (request.onLogits)
        arguments.c.on_logits = detail::Hooks::logits;
      if (request.onOutput) {
        arguments.c.on_output = detail::Hooks::output;
        hooks->self = hooks;
      }
    }
    RequestId id = 0;
    ingot_error *error = nullptr;
    // Another thread may take the last output before the hooks are recorded, so lock before the call.
    std::unique_lock lock(kept->mutex, std::defer_lock);
    const bool awaited = hooks && !request.onOutput;
    if (awaited)
      lock.lock();
    if (ingot_enqueue(handle.get(), &arguments.c, &id, &error)) {
      if (hooks)
        hooks->self.reset();
      return detail::take(error);
    }
    if (awaited)
      kept->hooks.emplace(id, std::move(hooks));
    return id;
  }

  /// Waits for outputs of a request and returns all of them. There is at least one, or none if the time
  /// runs out.
  Result<std::vector<Output>> await(RequestId id, Timeout timeout = {}) {
    ingot_outputs *list = nullptr;
    ingot_error *error = nullptr;
    const ingot_status status =
        ingot_await(handle.get(), id, timeout ? timeout->count() : -1, &list, &error);
    if (status == INGOT_TIMEOUT)
      return std::vector<Output>();
    if (status)
      return detail::take(error);
    std::vector<Output> outputs;
    for (size_t i = 0; i < ingot_outputs_count(list); ++i) {
      ingot_output output{};
      output.struct_size = sizeof output;
      ingot_outputs_get(list, i, &output);
      outputs.push_back(detail::read(output));
      if (outputs.back().last) {
        std::lock_guard lock(kept->mutex);
        kept->hooks.erase(outputs.back().request);
      }
    }
    ingot_outputs_free(list);
    return outputs;
  }
  /// Does the same as await(), for all requests without onOutput.
  Result<std::vector<Output>> awaitAny(Timeout timeout = {}) { return await(INGOT_ANY, timeout); }
  /// Returns the number of outputs that await() would return without waiting; INGOT_ANY: of all
  /// requests.
  size_t ready(RequestId id = INGOT_ANY) const { return ingot_ready(handle.get(), id); }

  /// Enqueues a request, waits for it and returns one output per choice.
  Result<std::vector<Output>> generate(Request request) {
    request.onOutput = {};
    request.streaming = false;
    const auto choices = size_t(request.choices);
    auto id = enqueue(request);
    if (!id)
      return id.error();
    std::vector<Output> all(choices);
    for (bool last = false; !last;) {
      auto some = await(*id);
      if (!some)
        return some.error();
      for (Output &one : *some) {
        last |= one.last;
        if (one.error)
          return *one.error;
        all[size_t(one.choice)] = std::move(one);
      }
    }
    return all;
  }

  /// Ends a request within one step. Its choices finish as Cancelled.
  void cancel(RequestId id) { ingot_cancel(handle.get(), id); }

  /// Stops accepting requests, waits for those under way, then cancels the rest.
  Result<void> shutdown(Timeout wait = {}) {
    ingot_error *error = nullptr;
    if (ingot_executor_shutdown(handle.get(), wait ? wait->count() : -1, &error))
      return detail::take(error);
    return {};
  }

  Stats stats() const {
    ingot_stats s{};
    s.struct_size = sizeof s;
    ingot_stats_get(handle.get(), &s);
    return {s.running,       s.waiting,     s.kv_pages_used, s.kv_pages,        s.steps,
            s.prompt_tokens, s.new_tokens,  s.finished_stop, s.finished_length, s.cancelled,
            s.failed,        s.refused,     s.preemptions,   s.prefix_queries,  s.prefix_hits,
            s.step_seconds,  s.ttft_p50_ms, s.ttft_p99_ms,   s.itl_p50_ms,      s.itl_p99_ms};
  }
  /// Returns metrics in Prometheus text format.
  Result<std::string> metrics() const {
    return text([&](char **out, size_t *size, ingot_error **error) {
      return ingot_metrics(handle.get(), out, size, error);
    });
  }
  Model model() const {
    ingot_model m{};
    m.struct_size = sizeof m;
    ingot_model_get(handle.get(), &m);
    Model out;
    out.name = m.name;
    out.fingerprint = m.fingerprint;
    out.target = m.target;
    out.device = m.device;
    out.remark = m.remark;
    out.vocab = m.vocab;
    out.context = m.context;
    out.maxSeqs = m.max_seqs;
    out.maxBatchTokens = m.max_batch_tokens;
    out.threads = m.threads;
    out.hasTokenizer = m.has_tokenizer != 0;
    out.hasChatTemplate = m.has_chat_template != 0;
    out.bos = m.bos;
    out.eos.assign(m.eos, m.eos + m.eos_count);
    out.mappedBytes = m.mapped_bytes;
    out.allocatedBytes = m.allocated_bytes;
    out.kvBytes = m.kv_bytes;
    out.loadMs = m.load_ms;
    return out;
  }

  /// Encodes a text. `plainPrompt`: adds the BOS that the engine adds to prompts.
  Result<std::vector<int32_t>> encode(std::string_view from, bool plainPrompt = false) const {
    int32_t *ids = nullptr;
    size_t count = 0;
    ingot_error *error = nullptr;
    if (ingot_encode(handle.get(), from.data(), from.size(), plainPrompt, &ids, &count, &error))
      return detail::take(error);
    std::unique_ptr<int32_t, detail::Free> owned(ids);
    return std::vector<int32_t>(ids, ids + count);
  }
  Result<std::string> decode(std::span<const int32_t> ids, bool showSpecial = false) const {
    return text([&](char **out, size_t *size, ingot_error **error) {
      return ingot_decode(handle.get(), ids.data(), ids.size(), showSpecial, out, size, error);
    });
  }
  /// Returns the bytes of one token. They live as long as the executor.
  Result<std::string_view> tokenBytes(int32_t id) const {
    const char *bytes = nullptr;
    size_t size = 0;
    ingot_error *error = nullptr;
    if (ingot_token_bytes(handle.get(), id, &bytes, &size, &error))
      return detail::take(error);
    return std::string_view(bytes, size);
  }
  /// Returns the id of a token with this spelling ("<|im_end|>").
  std::optional<int32_t> tokenId(std::string_view token) const {
    const int32_t id = ingot_token_id(handle.get(), token.data(), token.size());
    return id < 0 ? std::nullopt : std::optional(id);
  }
  /// Renders messages (JSON) to the text of a prompt.
  Result<std::string> renderChat(const std::string &messages, const std::string &variables = "",
                                 bool addGenerationPrompt = true) const {
    return text([&](char **out, size_t *size, ingot_error **error) {
      return ingot_render_chat(handle.get(), messages.c_str(), textOrNull(variables),
                               addGenerationPrompt, out, size, error);
    });
  }

  /// Returns the C handle, for functions that this header does not have. This object still owns it.
  ingot_executor *c() const { return handle.get(); }

private:
  struct Close {
    void operator()(ingot_executor *executor) const { ingot_executor_close(executor); }
  };
  /// The hooks of requests that still await outputs.
  struct Kept {
    std::mutex mutex;
    std::unordered_map<RequestId, std::shared_ptr<detail::Hooks>> hooks;
  };
  /// A request in C form. It points into the Request that it was made from.
  struct Arguments {
    ingot_request c;
    std::vector<const char *> stops;
    std::vector<ingot_id_list> badWords;
    std::vector<ingot_bias> bias;

    explicit Arguments(const Request &from) {
      ingot_request_init(&c, sizeof c);
      if (!from.promptIds.empty()) {
        c.prompt_ids = from.promptIds.data();
        c.prompt_id_count = from.promptIds.size();
      }
      if (!from.prompt.empty()) {
        c.prompt = from.prompt.data();
        c.prompt_size = from.prompt.size();
      }
      c.messages = textOrNull(from.messages);
      c.template_variables = textOrNull(from.templateVariables);
      c.trust_content = from.trustContent;
      c.max_tokens = from.maxTokens;
      c.min_tokens = from.minTokens;
      c.stop_ids = from.stopIds.data();
      c.stop_id_count = from.stopIds.size();
      for (const std::string &stop : from.stopStrings)
        stops.push_back(stop.c_str());
      c.stop_strings = stops.data();
      c.stop_string_count = stops.size();
      for (const auto &word : from.badWords)
        badWords.push_back({word.data(), word.size()});
      c.bad_words = badWords.data();
      c.bad_word_count = badWords.size();
      c.ignore_eos = from.ignoreEos;
      c.show_special = from.showSpecial;
      const Sampling &s = from.sampling;
      constexpr float kUnset = std::numeric_limits<float>::quiet_NaN();
      c.temperature = s.temperature.value_or(kUnset);
      c.top_k = s.topK.value_or(-1);
      c.top_p = s.topP.value_or(kUnset);
      c.min_p = s.minP.value_or(kUnset);
      c.typical_p = s.typicalP == 1 ? kUnset : s.typicalP;
      c.repetition_penalty = s.repetitionPenalty.value_or(kUnset);
      c.presence_penalty = s.presencePenalty.value_or(kUnset);
      c.frequency_penalty = s.frequencyPenalty.value_or(kUnset);
      if (s.penaltyWindow) // a library older than version 6 refuses the field
        c.penalty_window = *s.penaltyWindow;
      c.no_repeat_ngram = s.noRepeatNgram;
      c.seed = s.seed;
      for (const auto &[id, value] : s.logitBias)
        bias.push_back({id, value});
      c.logit_bias = bias.data();
      c.logit_bias_count = bias.size();
      c.choices = from.choices;
      c.logprobs = from.logprobs;
      c.streaming = from.streaming;
      c.priority = from.priority;
      c.share = from.share;
      c.no_prefix_cache = !from.prefixCache;
      c.cache_salt = from.cacheSalt;
      c.grammar_kind = int32_t(from.grammarKind);
      c.grammar = textOrNull(from.grammar);
      if (from.beams) {
        c.beam_width = from.beams->width ? from.beams->width : -1; // 0 would mean no search
        c.length_penalty = from.beams->lengthPenalty;
        c.stop_beams = int32_t(from.beams->stop);
      }
      if (from.contrastive) {
        c.penalty_alpha = from.contrastive->alpha != 0 ? from.contrastive->alpha : -1; // as above
        c.top_k = from.contrastive->topK;
      }
    }
  };

  explicit Executor(ingot_executor *executor) : handle(executor) {}
  static const char *textOrNull(const std::string &text) {
    return text.empty() ? nullptr : text.c_str();
  }
  template <typename Call> static Result<std::string> text(Call &&call) {
    char *out = nullptr;
    size_t size = 0;
    ingot_error *error = nullptr;
    if (call(&out, &size, &error))
      return detail::take(error);
    std::unique_ptr<char, detail::Free> owned(out);
    return std::string(out, size);
  }

  std::unique_ptr<Kept> kept = std::make_unique<Kept>(); // outlives the handle, as hooks may run
  std::unique_ptr<ingot_executor, Close> handle;
};

} // namespace v1
} // namespace ingot

#endif // INGOT_HPP
