//===- Service.h - One engine that serves requests from any thread --------===//
//
// A Session may be used from one thread only. A Service owns a session and that thread: any thread
// can submit requests, and the outputs go back to the submitter.
//
//   any thread                     the engine's thread                    the consumer's thread
//   reserve() submit() cancel() -> [ commands ] -> session.step() -> outputs of a whole step --
//                                                                     dispatch(…) -> job->take()
//
// The outputs of one step are delivered together, so a server wakes once per step and not once per
// token. The thread sleeps while there are no requests.
//
// No request is lost. Every choice of an accepted request ends in exactly one output of kind End,
// whether it was answered, was cancelled, or the device failed. If the device fails, or a step
// throws or does not end, every job under way ends. From then on no request is accepted (failure()),
// and everything that the engine still reports is dropped.
//
// A second thread, the watchdog, measures how long a step takes. It wakes about once a second and adds
// the time that has passed, but at most twice its period. Time during which the process was stopped
// (SIGSTOP, a debugger) or the machine slept therefore does not count as part of a step.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/service/Metrics.h"
#include "runtime/session/Session.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace ingot::service {

/// Times of events in a job, in nanoseconds of the steady clock; 0: not yet.
struct JobTimes {
  uint64_t scheduled = 0; ///< beginning of its first step
  uint64_t firstToken = 0, lastToken = 0;
};

/// An output of a job. A job has a Token output for each sampled token, and one End per choice.
struct Output {
  enum class Kind : uint8_t { Token, End, Prompt, Progress };
  Kind kind = Kind::Token;
  int32_t choice = 0;
  // Token
  int32_t id = -1;  ///< -1: text held back until the end, which belongs to no new token
  std::string text; ///< may be empty
  std::vector<text::OutputPiece> pieces; ///< the parsed text of a chat's answer
  std::vector<runtime::TokenLogprob> logprobs;
  // Prompt: comes before the tokens if Request::promptLogprobs requests it
  std::vector<runtime::PromptScore> scores;
  // Progress: comes during prefill, before the tokens, if Request::reportProgress is set
  int64_t computed = 0; ///< prompt tokens, including cachedTokens
  uint64_t at = 0;      ///< ns
  // End
  runtime::FinishReason reason = runtime::FinishReason::Stop;
  std::string stopString;       ///< the stop string that ended the choice, if any
  int64_t reasoningTokens = 0;  ///< tokens of reasoning in a chat's answer
  int32_t toolCalls = 0;        ///< calls in a chat's answer
  int32_t stopId = -1;          ///< the stop token that ended the choice; -1: none
  std::vector<float> embedding; ///< if the request pools
  int64_t newTokens = 0;        ///< sampled tokens, including a stop token
  int64_t cachedTokens = 0;     ///< prompt tokens found in the prefix cache; also set for Token
  std::optional<Error> error;   ///< why the choice ended early: E05xx, E07xx
  JobTimes times;               ///< of the job so far; also set for Token
};

/// One request of a client, with its number of choices. The creator may keep a reference; the service
/// keeps one until the last End.
class Job {
public:
  virtual ~Job() = default;
  /// Receives the job's outputs in order, on the thread where ServiceOptions::dispatch runs work.
  virtual void take(Output &output) = 0;

  std::string name; ///< the job's name in RequestView; set before submit()
  int owner = -1;   ///< number of the client's API key; set before submit()

private:
  friend class Service;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> byHand = false;    ///< cancelled by Service::end()
  std::atomic<bool> over = false;      ///< its last End was produced
  bool refused = false;                ///< cancelled because the service shuts down
  bool resumed = false;                ///< continues a job that has ended
  std::vector<runtime::RequestId> ids; ///< by choice; -1: ended
  int32_t open = 0;
  uint64_t reserved = 0; ///< ns
  JobTimes times;
  std::vector<uint64_t> lastToken; ///< ns, by choice
  int64_t promptTokens = 0, newTokens = 0;
};

struct ServiceOptions {
  int64_t queueRequests = 256;     ///< choices that may wait, in addition to the running ones
  int64_t queueTokens = 1'000'000; ///< prompt tokens that may wait
  /// Seconds after which a step fails (E0725); 0: no limit. A negative value means 20 times the time
  /// that the engine's costs predict for a step at all limits, but at least kLeastStepLimit. The first
  /// step then has ten times that limit, because it may have to read the weights from a disk. On an
  /// emulator a negative value means no limit.
  double stepLimit = -1;
  /// Runs work, in order, on the consumer's thread. Empty: the work runs on the engine's thread, or on
  /// the watchdog's when the watchdog ends the jobs of a hung step.
  std::function<void(std::function<void()>)> dispatch;
};
constexpr double kLeastStepLimit = 60; ///< seconds

/// A place among the requests under way. It is reserved before a request is read, so that excess
/// requests are refused at once. The destructor releases the place unless a job has taken it over.
class Reservation {
public:
  Reservation() = default;
  Reservation(Reservation &&other) noexcept
      : count(std::move(other.count)), choices(other.choices), resumed(other.resumed) {
    other.choices = 0;
  }
  Reservation &operator=(Reservation &&other) noexcept;
  ~Reservation() { release(); }

private:
  friend class Service;
  void release();
  std::shared_ptr<std::atomic<int64_t>> count;
  int64_t choices = 0;
  bool resumed = false;
};

/// A snapshot of a job after a step, for monitoring.
struct RequestView {
  enum class State : uint8_t { Queued, Prefill, Decode };
  std::string name;
  State state = State::Queued;
  int32_t choices = 0; ///< choices that have not ended
  int64_t promptTokens = 0, newTokens = 0;
  double seconds = 0; ///< since the job was submitted
};

class Service {
public:
  static std::unique_ptr<Service> create(std::unique_ptr<runtime::Session> session,
                                         ServiceOptions options);
  ~Service(); ///< stops like stop(), without a time limit
  Service(const Service &) = delete;
  Service &operator=(const Service &) = delete;

  /// The session's engine, tokenizer, limits and validate() may be used from any thread, since they are
  /// read-only.
  const runtime::Session &session() const { return *engine; }
  Metrics &metrics() { return measured; }

  /// Reserves a place for one more request. Fails with E0560, which states the limits in force, if the
  /// queue is full; the caller may try again later. `counts`: the metrics count a failure as a refused
  /// request, because the caller reports it to the client.
  Result<Reservation> reserve(bool counts = true);
  /// Reserves a place for a job that continues a request after its previous job has ended. Always succeeds; the queue
  /// does not grow, since the ended job has released its place.
  Reservation resume();
  /// Queues a request that session() has validated; of its hooks, only onLogits is used. From then on,
  /// outputs go to the job. Fails with E0560 if its choices, prompt tokens or hidden states exceed the
  /// room that is free now, with E0561 during shutdown, and with failure() if the engine has failed.
  Result<void> submit(runtime::ValidatedRequest request, std::shared_ptr<Job> job,
                      Reservation reservation);
  /// Ends a job within one step. Its End outputs have FinishReason::Cancelled.
  void cancel(Job &job);
  /// Ends the jobs under way with this name and owner. Their End outputs have the error E0559. Returns
  /// the number of jobs that it ends.
  size_t end(std::string_view name, int owner);

  /// Refuses new requests from now on (E0561), and ends jobs that have not had a step with E0561.
  void refuseWaiting();

  /// Cancels all jobs and waits until they have ended, for at most `patience` seconds, or until the
  /// watchdog gives up the step. No request is accepted afterwards. Must not be called on the engine's
  /// thread. Returns false if a step does not end. The process must then exit without destroying the
  /// service, because its destructor would wait for the step.
  bool stop(double patience = 1e9);
  /// Calls Session::writeTrace(). Call this function only after stop() has returned true.
  Result<void> writeTrace() { return engine->writeTrace(); }

  /// Returns the statistics of the last step.
  runtime::ScheduleStats stats() const;
  /// Returns the jobs under way in order of arrival. The list costs time, so it is maintained only for
  /// a few seconds after each call. The first call of a series may therefore miss new jobs.
  std::vector<RequestView> requests() const;
  /// Returns the number of choices under way, including waiting ones and reservations.
  int64_t underWay() const { return taken->load(); }
  /// Returns an estimate of the seconds until a refused request may find room, at least 1. It is
  /// based on the mean time of ended requests.
  int64_t retryAfter() const;
  /// Returns the error that stopped the engine; null if there is none.
  std::shared_ptr<const Error> failure() const;
  /// Returns true while a step that the watchdog gave up has not ended.
  bool hung() const;

private:
  struct Command {
    runtime::ValidatedRequest request;
    std::shared_ptr<Job> job;
  };
  struct Delivery {
    std::shared_ptr<Job> job;
    Output output;
  };

  Service(std::unique_ptr<runtime::Session> session, ServiceOptions options);
  void run();
  void serve();
  void take(std::vector<Command> &fresh);
  void adopt(std::shared_ptr<Job> job, int32_t choices);
  bool workAhead();
  void watch();
  bool giveUp(uint64_t step, double seconds);
  bool step();
  static Error stepThrew(const char *what);
  void broke(Error why);
  void fail(Error why);
  void begin(Command command);
  void refuseUnstarted();
  void noteStarted(uint64_t stepBegin);
  void collect();
  void end(const std::shared_ptr<Job> &job, size_t choice, Output output);
  void onPrompt(const std::shared_ptr<Job> &job, std::vector<runtime::PromptScore> scores);
  void onProgress(const std::shared_ptr<Job> &job, const runtime::PromptProgress &progress);
  void onToken(const std::shared_ptr<Job> &job, int32_t choice, const runtime::TokenEvent &event);
  void deliver();
  void publish();
  std::vector<RequestView> look() const;

  std::unique_ptr<runtime::Session> engine;
  ServiceOptions options;
  Metrics measured;
  std::shared_ptr<std::atomic<int64_t>> taken = std::make_shared<std::atomic<int64_t>>(0);
  std::atomic<int64_t> waitingTokens = 0;
  mutable std::atomic<uint64_t> lastLook = 0; ///< ns; time of the last call of requests()

  mutable std::mutex mutex; ///< guards the fields from `commands` to `failed`
  std::condition_variable wake;
  std::vector<Command> commands;
  std::vector<std::weak_ptr<Job>> submitted; ///< jobs under way, and some that have ended
  bool stopping = false, refusing = false;
  runtime::ScheduleStats published;
  std::vector<RequestView> views;
  std::shared_ptr<const Error> failed;

  /// Guards the fields below, down to `broken`. The engine's thread holds it except while it waits and
  /// while the engine works. During these times, the watchdog may lock it. It is locked before `mutex`.
  std::mutex turn;
  std::vector<std::shared_ptr<Job>> jobs;
  std::vector<Delivery> deliveries;
  bool abandoned = false;            ///< the watchdog has given up waiting for a step
  bool broken = false;               ///< a step has thrown
  std::atomic<bool> stepped = false; ///< the first step has ended

  double stepLimit = 0, firstStepLimit = 0; ///< seconds; 0: none
  std::atomic<uint64_t> steps = 0;          ///< odd while the engine works
  std::condition_variable overNow;          ///< wakes the watchdog when `over` is set; with `mutex`
  bool over = false;
  std::condition_variable leftNow; ///< wakes stop(); with `mutex`
  bool left = false, lost = false; ///< the engine's thread has ended, or hangs in a step
  std::thread thread, watchdog;
};

} // namespace ingot::service
