//===- AnswerStream.h - Job outputs as one HTTP response -------------------===//
//
// A request may have several prompts with several choices each. All of them go into one response,
// streamed or whole. A route derives from AnswerStream and implements the format of its protocol.
//
//   job of prompt 0 --\                         begin()  token() …  ended()  finished()
//   job of prompt 1 ---+--> AnswerStream.take() ------> the route's writer ----> Responder
//
// Except for submit(), all functions run on the server's thread.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/json/JsonText.h"
#include "runtime/server/api/GenerationFields.h"
#include "runtime/server/http/Server.h"

namespace ingot::api {

/// Runs work on the server's thread.
using Post = std::function<void(std::function<void()>)>;

/// Token counts of a response.
struct Usage {
  int64_t prompt = 0, completion = 0, cached = 0, reasoning = 0;
};

/// llama.cpp's timings of one choice. prompt_n counts only the computed tokens of the prompt, not
/// the cached ones. The first new token comes from the prompt's step, so n new tokens take n - 1
/// further steps.
struct ChoiceTimes {
  int64_t prompt = 0, cached = 0, predicted = 0; ///< tokens
  uint64_t begun = 0, first = 0, last = 0;       ///< ns; 0: not yet
  int64_t computed = 0;     ///< prompt tokens computed so far, including cached ones
  uint64_t computedAt = 0;  ///< ns
  std::string json() const; ///< {"cache_n":…,"prompt_n":…,"prompt_ms":…,"predicted_n":…,…}
  /// Returns {"total","cache","processed","time_ms"} of the prompt so far.
  std::string progressJson() const;
};

/// Describes what ended an answer: a stop string, a stop token of the request or of the engine, or none of
/// these.
struct StopCause {
  std::string text;
  int32_t id = -1;
  bool ownId = false; ///< the token is in the request's stop_token_ids
};

class AnswerStream : public std::enable_shared_from_this<AnswerStream> {
public:
  virtual ~AnswerStream() = default;

  /// Validates the request with each prompt (a list of token ids) and queues a job for each prompt, with
  /// the choices and settings of the generation. `first` is the reservation that was made before the
  /// request was read. Returns an error if a prompt is not valid or the first job cannot be queued.
  /// A later failure aborts the stream. May be called from any thread, but only the server's thread
  /// uses the stream from then on. `inTurns`: at most kMostAtOnce prompts run at once, fewer if the
  /// service has fewer free places. The others follow as these end.
  static std::optional<ApiError> submit(std::shared_ptr<AnswerStream> stream,
                                        std::vector<std::vector<int32_t>> prompts,
                                        service::Reservation first, const Post &post,
                                        bool inTurns = false);
  static constexpr size_t kMostAtOnce = 32;

protected:
  AnswerStream(Generation generation, std::shared_ptr<http::Responder> responder);

  /// Called once, before anything else, if the answer is streamed.
  virtual void begin() {}
  /// Receives a prompt's log-probabilities before the tokens of its choices, if
  /// Request::promptLogprobs requests them. The choice is the prompt's first.
  virtual void prompt(const service::Output &output) {}
  /// Reports the progress of a prompt (see `timesOf`) if the request sets return_progress. It is
  /// called before each step that computes a part of the prompt, and before the first token. The
  /// choice is the prompt's first.
  virtual void progress(int32_t choice) {}
  virtual void token(const service::Output &output) = 0;
  virtual void ended(const service::Output &output) = 0; ///< a choice has ended
  virtual void finished() = 0; ///< all choices have ended; sends the response or its end
  virtual const char *contentType() const {
    return "text/event-stream; charset=utf-8";
  } ///< the type of a streamed response
  /// Ends a streamed answer with an error.
  virtual void failed(const ApiError &error);
  /// Formats an error for the protocol.
  virtual std::string errorText(const ApiError &error) const { return error.body(); }

  /// Writes an event of a stream: "data: …\n\n", with an event name if there is one.
  void event(std::string_view data, std::string_view name = "");
  /// Returns the beginning of OpenAI's completions and chats, up to the list of choices:
  /// {"id":…,"choices":
  std::string listHead(std::string_view idPrefix, std::string_view object) const;
  /// Returns the end of a chunk that begins with listHead(), after its list: usage if requested.
  std::string chunkEnd() const;
  /// Ends a response that begins with listHead(). A stream gets its usage and [DONE]; otherwise the
  /// whole response is sent, with its list of choices.
  void finishList(const std::string &head, std::string_view choices);
  const Generation &asked() const { return generation; }
  StopCause stopOf(const service::Output &output) const;
  const ChoiceTimes &timesOf(int32_t choice) const { return times[size_t(choice)]; }
  /// Further members of a whole response or of a stream's usage event, each as ",…". They are written
  /// before the usage. finished() sets them.
  std::string moreMembers;
  http::Responder &response() { return *responder; }
  int32_t choices() const { return total; }

  Usage usage;

private:
  class PromptJob;
  void start();
  void next();
  void take(service::Output &output);
  void abort(const ApiError &error); ///< answers with the error and ends jobs under way
  void cancelJobs();
  void close(); ///< after the last byte
  void noteTimes(const service::Output &output);
  void noteProgress(const service::Output &output);
  void noteAsked() const;
  void noteEnd(const service::Output &output) const;

  Generation generation;
  std::shared_ptr<http::Responder> responder;
  std::vector<std::shared_ptr<service::Job>> jobs; ///< empty after close()
  std::vector<runtime::ValidatedRequest> later; ///< requests waiting for their turn, last one first
  int32_t total = 0, open = 0;
  int64_t reported = 0; ///< tokens so far, over all choices
  std::vector<ChoiceTimes> times;
  bool begun = false, broken = false;
};

/// Writes members of a choice: vLLM's "stop_reason" (which omits the engine's own stop tokens) and
/// SGLang's "matched_stop".
void stopJson(runtime::JsonText &json, const StopCause &stop);

/// Returns a model's fingerprint in the format of llama.cpp's builds: "b0-…".
std::string llamaBuild(const service::ServedModel &model);

/// Returns OpenAI's name of a finish reason: "stop", "length".
const char *finishReason(runtime::FinishReason reason);
/// Returns a new id: the prefix and 24 random hexadecimal digits.
std::string newId(std::string_view prefix);
/// Returns {"prompt_tokens":…} as in chats and completions.
std::string usageJson(const Usage &usage);

} // namespace ingot::api
