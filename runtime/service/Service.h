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
// No request is lost: every choice of an accepted request ends in exactly one output of kind End,
// whether it was answered, it was cancelled, or the device failed. If the device fails, or a step
// throws or does not end, every job under way ends, no request is accepted any more (failure()),
// and everything that the engine still reports is dropped.
//
// A second thread, the watchdog, measures how long a step takes. It adds up its own waking time in
// bounded increments of one or two seconds at most. Time during which the process was stopped
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
  uint64_t scheduled = 0; ///< begin of its first step
  uint64_t firstToken = 0, lastToken = 0;
};

/// An output of a job: tokens as they are drawn, and one End per choice.
struct Output {
  enum class Kind : uint8_t { Token, End, Prompt, Progress };
  Kind kind = Kind::Token;
  int32_t choice = 0;
  // Token
  int32_t id = -1;  ///< -1: held-back text at the end, which belongs to no new id
  std::string text; ///< may be empty
  std::vector<text::OutputPiece> pieces; ///< the parsed text of a chat's answer
  std::vector<runtime::TokenLogprob> logprobs;
  // Prompt: comes before the tokens if the request asks for it (Request::promptLogprobs)
  std::vector<runtime::PromptScore> scores;
  // Progress: of prefill, before the tokens, if the request asks for it (Request::reportProgress)
  int64_t computed = 0; ///< prompt tokens, including those in cachedTokens
  uint64_t at = 0;      ///< ns
  // End
  runtime::FinishReason reason = runtime::FinishReason::Stop;
  std::string stopString;       ///< the stop string that ended the choice, if any
  int64_t reasoningTokens = 0;  ///< in a chat's answer
  int32_t toolCalls = 0;        ///< calls in a chat's answer
  int32_t stopId = -1;          ///< the stop id that ended the choice; -1: none
  std::vector<float> embedding; ///< if the request pools
  int64_t newTokens = 0;        ///< ids drawn, including a stop id
  int64_t cachedTokens = 0;     ///< prompt tokens found in the prefix cache; set for tokens, too
  std::optional<Error> error;   ///< why the choice ended early: E05xx, E07xx
  JobTimes times;               ///< of the job so far; set for tokens, too
};

/// One request of a client, with the number of choices that it asked for. The creator may keep a
/// reference; the service keeps one until the last End.
class Job {
public:
  virtual ~Job() = default;
  /// Receives the job's outputs in order, on the thread where ServiceOptions::dispatch runs work.
  virtual void take(Output &output) = 0;

  std::string name; ///< its name in RequestView; set before submit()
  int owner = -1;   ///< the API key that it came with; set before submit()

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
  int64_t queueRequests = 256;     ///< choices that may wait, beyond those that run at once
  int64_t queueTokens = 1'000'000; ///< prompt tokens that may wait
  /// Seconds after which a step fails (E0725); 0: no limit; < 0: 20 times the predicted time of a
  /// step at all limits (by the engine's costs), at least kLeastStepLimit, no limit on an emulator,
  /// and ten times that limit for the first step, which may have to read the weights from a disk.
  double stepLimit = -1;
  /// Runs work, in order, on the consumer's thread. Empty: runs it on the engine's thread, or on
  /// the watchdog's when the watchdog ends jobs of a hung step.
  std::function<void(std::function<void()>)> dispatch;
};
constexpr double kLeastStepLimit = 60; ///< seconds

/// A place among the requests under way. It is reserved before a request is read, so that excess
/// requests are refused at once. The destructor releases the place unless a job took it over.
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
  double seconds = 0; ///< since it was submitted
};

class Service {
public:
  static std::unique_ptr<Service> create(std::unique_ptr<runtime::Session> session,
                                         ServiceOptions options);
  ~Service(); ///< as stop(), without a time limit
  Service(const Service &) = delete;
  Service &operator=(const Service &) = delete;

  /// Read-only uses of the session are safe from any thread: engine, tokenizer, limits, validate.
  const runtime::Session &session() const { return *engine; }
  Metrics &metrics() { return measured; }

  /// Reserves a place for one more request. E0560 (with the limits in force) if the queue is full:
  /// try again later. `counts`: the metrics count a failure as a refused request, because the
  /// caller reports it to the client.
  Result<Reservation> reserve(bool counts = true);
  /// Reserves a place for a job that continues a request whose previous job has ended. Always
  /// succeeds; the queue does not grow, since the ended job has released its place.
  Reservation resume();
  /// Queues a request that session() has validated; of its hooks, only onLogits is used. Outputs go
  /// to the job from now on. Errors: E0560 (choices, prompt tokens or hidden states exceed what is
  /// free now), E0561 (shutting down), failure().
  Result<void> submit(runtime::ValidatedRequest request, std::shared_ptr<Job> job,
                      Reservation reservation);
  /// Ends a job within one step. Its Ends come with FinishReason::Cancelled.
  void cancel(Job &job);
  /// Ends the jobs under way with this name and owner; their Ends carry E0559. Returns how many
  /// jobs it ends.
  size_t end(std::string_view name, int owner);

  /// Refuses new requests from now on (E0561), and ends jobs that have not had a step with E0561.
  void refuseWaiting();

  /// Cancels all jobs and waits until they have ended, for at most `patience` seconds, or until the
  /// watchdog gives up the step. No request is accepted afterwards. Must not run on the engine's
  /// thread. Returns false if a step does not end; the process must then exit without destroying
  /// the service, whose destructor would wait for the step.
  bool stop(double patience = 1e9);
  /// Session::writeTrace(). Call it only after stop() has returned true.
  Result<void> writeTrace() { return engine->writeTrace(); }

  /// Returns the statistics of the last step.
  runtime::ScheduleStats stats() const;
  /// Returns the jobs under way in order of arrival. The list is maintained only for a few seconds
  /// after each call, since it costs time; the first call of a series may miss new jobs.
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

  /// Guards the fields below, down to `broken`. The engine's thread holds it except while it waits
  /// and while the engine works; the watchdog may lock it then. Locked before `mutex`.
  std::mutex turn;
  std::vector<std::shared_ptr<Job>> jobs;
  std::vector<Delivery> deliveries;
  bool abandoned = false;            ///< the watchdog has given up a step
  bool broken = false;               ///< a step has thrown
  std::atomic<bool> stepped = false; ///< the first step has ended

  double stepLimit = 0, firstStepLimit = 0; ///< seconds; 0: none
  std::atomic<uint64_t> steps = 0;          ///< odd while the engine works
  std::condition_variable overNow;          ///< for the watchdog; with `mutex`
  bool over = false;
  std::condition_variable leftNow; ///< for stop(); with `mutex`
  bool left = false, lost = false; ///< the engine's thread has ended; is stuck in a hung step
  std::thread thread, watchdog;
};

} // namespace ingot::service
