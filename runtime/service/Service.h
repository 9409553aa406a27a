//===- Service.h - One engine answering many, from any thread -------------===//
//
// A Session is used from one thread. A Service owns one, and that thread: requests come in from
// wherever they are made, outputs go back to whoever made them.
//
//   any thread                     the engine's thread                    where outputs are wanted
//   reserve() submit() cancel() -> [ commands ] -> session.step() -> outputs of a whole step --
//                                                                     dispatch(…) -> job->take()
//
// The outputs of one step travel together, so that a server is woken once a step and not once a
// token. While nothing is asked for the thread sleeps.
//
// Nothing is lost: a request that was taken ends in exactly one output of kind End, whether it was
// answered, cancelled, or the device failed. A device that fails, and a step that throws or does
// not end, end all that is under way; nothing is taken from then on (failure()), and nothing that
// the engine still says is passed on.
//
// A second thread, the watchdog, looks at how long a step has taken. It counts its own waking time,
// a second a look at most: a process that was stopped (SIGSTOP, a debugger) or a machine that slept
// has not made a step any longer.
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

/// Moments of a job, nanoseconds of the steady clock; 0: not yet.
struct JobTimes {
  uint64_t scheduled = 0; ///< its first step began
  uint64_t firstToken = 0, lastToken = 0;
};

/// What comes back of a job: tokens as they are drawn, and for each choice one end.
struct Output {
  enum class Kind : uint8_t { Token, End, Prompt, Progress };
  Kind kind = Kind::Token;
  int32_t choice = 0;
  // Token
  int32_t id = -1;  ///< -1: held-back text at the end, which belongs to no new id
  std::string text; ///< may be empty
  std::vector<text::OutputPiece> pieces; ///< what it means, of a chat's answer
  std::vector<runtime::TokenLogprob> logprobs;
  // Prompt: before the tokens of a job whose request asks for it (Request::promptLogprobs)
  std::vector<runtime::PromptScore> scores;
  // Progress: of a prompt before its tokens, where its request asks for it (Request::tellProgress)
  int64_t computed = 0; ///< tokens of the prompt, those in cachedTokens among them
  uint64_t at = 0;      ///< ns
  // End
  runtime::FinishReason reason = runtime::FinishReason::Stop;
  std::string stopString;       ///< that ended it, if one did
  int64_t reasoningTokens = 0;  ///< of a chat's answer
  int32_t toolCalls = 0;        ///< likewise: calls that it holds
  int32_t stopId = -1;          ///< likewise; -1: none did
  std::vector<float> embedding; ///< where the request pools
  int64_t newTokens = 0;        ///< ids drawn, a stop id among them
  int64_t cachedTokens = 0;     ///< of the prompt, found in the prefix cache; of a token, too
  std::optional<Error> error;   ///< why it ended before its time: E05xx, E07xx
  JobTimes times;               ///< of the job, so far; of a token, too
};

/// One request of a client, with as many choices as it asked for. The maker keeps a reference as
/// long as it likes; the service keeps one until the last End.
class Job {
public:
  virtual ~Job() = default;
  /// Called where ServiceOptions::dispatch runs things, in order.
  virtual void take(Output &output) = 0;

  std::string name; ///< what RequestView calls it; set before it is submitted
  int owner = -1;   ///< the API key that it came with; likewise

private:
  friend class Service;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> byHand = false;    ///< cancelled by Service::end()
  std::atomic<bool> over = false;      ///< its last End is there
  bool refused = false;                ///< cancelled since the service ends
  bool resumed = false;                ///< goes on where another has ended
  std::vector<runtime::RequestId> ids; ///< of choices under way; -1: ended
  int32_t open = 0;
  uint64_t reserved = 0; ///< ns
  JobTimes times;
  std::vector<uint64_t> lastToken; ///< ns, by choice
  int64_t promptTokens = 0, newTokens = 0;
};

struct ServiceOptions {
  int64_t queueRequests = 256;     ///< choices beyond what runs at once that may wait
  int64_t queueTokens = 1'000'000; ///< prompt tokens that may wait
  /// Seconds after which a step has failed (E0725); 0: never; < 0: 20 times what the engine's costs
  /// say of a step at all limits, kLeastStepLimit at least, none on an emulator, and ten times as
  /// many for the first one, which may have to read the weights from a disk.
  double stepLimit = -1;
  /// Runs work, in order, where outputs are wanted; empty: on the engine's thread, or on the
  /// watchdog's where that ends what the engine does not.
  std::function<void(std::function<void()>)> dispatch;
};
constexpr double kLeastStepLimit = 60; ///< seconds

/// A place among the requests under way, taken before the work of reading a request is done, so
/// that what is too much is refused at once. Gives it back unless a job took it.
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

/// A job as it stood after a step, for those who look on.
struct RequestView {
  enum class State : uint8_t { Queued, Prefill, Decode };
  std::string name;
  State state = State::Queued;
  int32_t choices = 0; ///< not ended yet
  int64_t promptTokens = 0, newTokens = 0;
  double seconds = 0; ///< since it was submitted
};

class Service {
public:
  static std::unique_ptr<Service> create(std::unique_ptr<runtime::Session> session,
                                         ServiceOptions options);
  ~Service(); ///< as stop(), however long it takes
  Service(const Service &) = delete;
  Service &operator=(const Service &) = delete;

  /// Read-only uses of it are safe from any thread: engine, tokenizer, limits, validate.
  const runtime::Session &session() const { return *engine; }
  Metrics &metrics() { return measured; }

  /// Room for one more request, or E0560 (the queue is full) with its numbers: come again later.
  /// `counts`: among those that the metrics call refused, since the client will be told so.
  Result<Reservation> reserve(bool counts = true);
  /// A place for what goes on where a job of the same request has ended: there is always one, and
  /// what waits in the queue's name does not grow by it.
  Reservation resume();
  /// Takes a request with `choices` answers (SamplingParams::choice counts up from the request's
  /// own); outputs go to the job from now on. Errors: those of Session::submit, E0560 (choices or
  /// prompt tokens beyond what may wait), E0561 (shutting down).
  Result<void> submit(runtime::Request request, int32_t choices, std::shared_ptr<Job> job,
                      Reservation reservation);
  /// Ends a job within one step. Its Ends come with FinishReason::Cancelled.
  void cancel(Job &job);
  /// Ends what is under way by that name and of that owner: E0559 for whoever waits for it. How
  /// many there were.
  size_t end(std::string_view name, int owner);

  /// From now on nothing is taken (E0561), and what has not had a step yet ends with E0561.
  void refuseWaiting();

  /// Cancels what is under way and waits for it to end, `patience` seconds at most, or until the
  /// watchdog has given the step up. Not from the engine's thread; nothing is taken from then on.
  /// False: a step does not end; leave the process without it. (The destructor waits for it.)
  bool stop(double patience = 1e9);
  /// Session::writeTrace(), after stop() has said true.
  Result<void> writeTrace() { return engine->writeTrace(); }

  /// Of the last step.
  runtime::ScheduleStats stats() const;
  /// What is under way, in the order it came. Kept up to date for a few seconds after each call, so
  /// that nobody pays for a list that nobody reads: the first of a series may miss what is new.
  std::vector<RequestView> requests() const;
  /// Choices under way, waiting ones and reservations included.
  int64_t underWay() const { return taken->load(); }
  /// Seconds until a request that is refused now may find room, a guess from what ended lately; 1
  /// at least.
  int64_t retryAfter() const;
  /// Why the engine answers no more; null while all is well.
  std::shared_ptr<const Error> failure() const;
  /// The step that the watchdog gave up has still not ended.
  bool hung() const;

private:
  struct Command {
    runtime::Request request;
    int32_t choices;
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
  mutable std::atomic<uint64_t> lastLook = 0; ///< ns; requests() was called

  mutable std::mutex mutex; ///< of the fields down to `published`
  std::condition_variable wake;
  std::vector<Command> commands;
  std::vector<std::weak_ptr<Job>> submitted; ///< those under way, and some that no longer are
  bool stopping = false, refusing = false;
  runtime::ScheduleStats published;
  std::vector<RequestView> views;
  std::shared_ptr<const Error> failed;

  /// The engine's thread has it, but while it waits and while the engine works; then the watchdog
  /// may take it. Of what follows; taken before `mutex`.
  std::mutex turn;
  std::vector<std::shared_ptr<Job>> jobs;
  std::vector<Delivery> deliveries;
  bool abandoned = false;            ///< by the watchdog
  bool broken = false;               ///< a step has thrown
  std::atomic<bool> stepped = false; ///< the first step has ended

  double stepLimit = 0, firstStepLimit = 0; ///< seconds; 0: none
  std::atomic<uint64_t> steps = 0;          ///< odd while the engine works
  std::condition_variable overNow;          ///< of the watchdog; with `mutex`
  bool over = false;
  std::condition_variable leftNow; ///< of stop(); with `mutex`
  bool left = false, lost = false; ///< the engine's thread has ended; will not, as far as is known
  std::thread thread, watchdog;
};

} // namespace ingot::service
