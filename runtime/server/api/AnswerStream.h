//===- AnswerStream.h - From outputs of jobs to one HTTP response ----------===//
//
// A request may have several prompts, and several choices of each; all go into one response,
// streamed or whole. A route derives from this and says how its protocol writes things down.
//
//   job of prompt 0 --\                         begin()  token() …  ended()  finished()
//   job of prompt 1 ---+--> AnswerStream.take() ------> the route's writer ----> Responder
//
// Used on the server's thread alone, but for submit().
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

/// llama.cpp's timings of one choice. Its prompt is what was computed, without what was cached; the
/// first new token comes with the prompt, so that n of them are n - 1 steps.
struct ChoiceTimes {
  int64_t prompt = 0, cached = 0, predicted = 0; ///< tokens
  uint64_t begun = 0, first = 0, last = 0;       ///< ns; 0: not yet
  int64_t computed = 0;                          ///< tokens of the prompt, those cached among them
  uint64_t computedAt = 0;                       ///< ns
  std::string json() const; ///< {"cache_n":…,"prompt_n":…,"prompt_ms":…,"predicted_n":…,…}
  /// {"total","cache","processed","time_ms"} of the prompt, so far.
  std::string progressJson() const;
};

/// What ended an answer: a stop string, an id of the request's or one that ends every answer, or
/// nothing of these.
struct StopCause {
  std::string text;
  int32_t id = -1;
  bool ownId = false; ///< the request named it: stop_token_ids
};

class AnswerStream : public std::enable_shared_from_this<AnswerStream> {
public:
  virtual ~AnswerStream() = default;

  /// Queues a job for each prompt (ids), with the choices and settings of the generation. The first
  /// reservation was made before the request was read. An error if one cannot be queued: then none
  /// is. From any thread; the stream is the server's thread's from then on.
  /// `inTurns`: takes as many of the server's places as are free, up to kMostAtOnce, and the
  /// prompts one after the other in them.
  static std::optional<ApiError> submit(std::shared_ptr<AnswerStream> stream,
                                        std::vector<std::vector<int32_t>> prompts,
                                        service::Reservation first, const Post &post,
                                        bool inTurns = false);
  static constexpr size_t kMostAtOnce = 32;

protected:
  AnswerStream(Generation generation, std::shared_ptr<http::Responder> responder);

  /// Once, before anything else, where the answer is streamed.
  virtual void begin() {}
  /// Of a prompt, before its choices' tokens, where Request::promptLogprobs asks for it. The choice
  /// is the prompt's first.
  virtual void prompt(const service::Output &output) {}
  /// How far a prompt is (`timesOf`), where return_progress asks for it: before each step that
  /// computes a part of it, and before its first token. The choice is the prompt's first.
  virtual void progress(int32_t choice) {}
  virtual void token(const service::Output &output) = 0;
  virtual void ended(const service::Output &output) = 0; ///< of one choice
  virtual void finished() = 0;                           ///< of all; sends the response or its end
  virtual const char *contentType() const {
    return "text/event-stream; charset=utf-8";
  } ///< of a stream
  /// A streamed answer breaks off.
  virtual void failed(const ApiError &error);
  /// An error as the protocol writes it.
  virtual std::string errorText(const ApiError &error) const { return error.body(); }

  /// Writes an event of a stream: "data: …\n\n", with an event name if one is given.
  void event(std::string_view data, std::string_view name = "");
  /// What OpenAI's completions and chat begin with, up to their list: {"id":…,"choices":
  std::string listHead(std::string_view idPrefix, std::string_view object) const;
  /// What ends a chunk of theirs, behind its list: usage where it is asked for.
  std::string chunkEnd() const;
  /// Their end: usage and [DONE] of a stream, or the whole response with the list of choices.
  void finishList(const std::string &head, std::string_view choices);
  const Generation &asked() const { return generation; }
  StopCause stopOf(const service::Output &output) const;
  const ChoiceTimes &timesOf(int32_t choice) const { return times[size_t(choice)]; }
  /// More members of a whole response, ",…" before its usage; from finished().
  std::string moreMembers;
  http::Responder &response() { return *responder; }
  int32_t choices() const { return total; }

  Usage usage;

private:
  class PromptJob;
  void start();
  void next();
  void take(service::Output &output);
  void abort(const ApiError &error); ///< answers by it, and ends what is under way
  void cancelJobs();
  void close(); ///< after the last byte
  void noteTimes(const service::Output &output);
  void noteProgress(const service::Output &output);
  void noteAsked() const;
  void noteEnd(const service::Output &output) const;

  Generation generation;
  std::shared_ptr<http::Responder> responder;
  std::vector<std::shared_ptr<service::Job>> jobs; ///< until close()
  std::vector<std::vector<int32_t>> later;         ///< prompts whose turn comes, the last first
  int32_t total = 0, open = 0;
  int64_t told = 0; ///< tokens so far, of all choices
  std::vector<ChoiceTimes> times;
  bool begun = false, broken = false;
};

/// vLLM's "stop_reason" (which does not name ids that end every answer) and SGLang's "matched_stop",
/// as members of a choice.
void stopJson(runtime::JsonText &json, const StopCause &stop);

/// A model's fingerprint as llama.cpp writes its builds: "b0-…".
std::string llamaBuild(const service::ServedModel &model);

/// "stop", "length" as OpenAI says them.
const char *finishReason(runtime::FinishReason reason);
/// A new id: the prefix and 24 random hexadecimal digits.
std::string newId(std::string_view prefix);
/// {"prompt_tokens":…} as chat and completions give it.
std::string usageJson(const Usage &usage);

} // namespace ingot::api
