//===- Executor.h - A service whose outputs are waited for ------------------===//
//
// What libingot's C interface (include/ingot.h) is a coat over. A service gives the outputs of a
// step to jobs on the engine's thread; here they are kept until somebody comes for them.
//
//   engine's thread --take()--> Ticket: what each choice has new --+-- await(): any thread
//                                                                  +-- callbacks: a thread of
//                                                                  theirs
//
// Parts that nobody has fetched yet become one output, so that a slow reader gets fewer and longer
// ones, and the engine never waits for it.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/service/ServedModel.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace ingot::embed {

using RequestId = uint64_t;

/// What a choice has new. At its end (`reason`) nothing follows.
struct Output {
  RequestId request = 0;
  int32_t choice = 0;
  bool last = false; ///< of the whole request
  std::optional<runtime::FinishReason> reason;
  std::optional<Error> error; ///< then `reason` is Cancelled
  std::vector<int32_t> ids;
  std::string text;
  std::vector<runtime::TokenLogprob> logprobs; ///< [ids][logprobsPerId]
  size_t logprobsPerId = 0;
  std::string stopString;
  int64_t promptTokens = 0, cachedTokens = 0, newTokens = 0;
  double queueMs = 0, ttftMs = 0, elapsedMs = 0;
};

struct Request {
  runtime::Request what;
  int32_t choices = 1;
  bool streaming = false; ///< outputs as ids are drawn, else one per choice at its end
  std::function<void(const Output &)> onOutput; ///< empty: outputs are awaited
};

/// All public functions may be called from any thread.
class Executor {
public:
  struct Options {
    runtime::SessionOptions session;
    service::ModelOptions model; ///< service.dispatch must be empty
  };
  /// Errors: those of Session::open and ServedModel::create.
  static Result<std::unique_ptr<Executor>> open(const std::string &path, Options options);
  /// Cancels what is under way and waits for it, callbacks included.
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  service::ServedModel &model() const { return *served; }
  const runtime::Session &session() const { return served->session(); }

  /// A number for the next request: hooks can be told before it is queued.
  RequestId newId() { return nextId.fetch_add(1); }
  /// Errors: those of Service::reserve and submit; E0561 after shutdown().
  Result<void> enqueue(RequestId id, Request request);
  using Timeout = std::optional<std::chrono::milliseconds>; ///< none: for ever
  /// All outputs of a request (0: of any) that are there, at least one; none if the time passed.
  /// E0561, E0571, E0573: see ingot_await.
  Result<std::vector<Output>> await(RequestId id, Timeout timeout);
  size_t ready(RequestId id);
  void cancel(RequestId id);
  /// See ingot_executor_shutdown. E0574 in a callback or hook.
  Result<void> shutdown(Timeout wait);

private:
  class Ticket;
  using TicketRef = std::shared_ptr<Ticket>;

  Executor() = default;
  void becameReady(const TicketRef &ticket); ///< holds the mutex
  std::vector<Output> collect(const TicketRef &ticket);
  void ended();
  void runCallbacks();

  std::shared_ptr<service::ServedModel> served;
  std::atomic<RequestId> nextId = 1;
  /// The engine's, while it is in a hook. Shared with hooks: the thread of a step that was given up
  /// goes on when the executor has gone.
  std::shared_ptr<std::atomic<std::thread::id>> hookThread =
      std::make_shared<std::atomic<std::thread::id>>();

  std::mutex mutex;                                 ///< of all below, and of what tickets hold
  std::unordered_map<RequestId, TicketRef> tickets; ///< until their last output was fetched
  std::deque<TicketRef> anyReady;                   ///< for await(0); some may be empty by now
  std::condition_variable someReady, allEnded, called;
  int64_t underWay = 0; ///< tickets that have not ended, with their last callback if they have one
  bool closed = false, stopping = false;
  std::deque<TicketRef> calls; ///< that have something for their callback
  std::thread callbacks;       ///< begun with the first request that has one
};

} // namespace ingot::embed
