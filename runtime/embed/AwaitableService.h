//===- AwaitableService.h - A service with awaitable outputs --------------===//
//
// libingot's C interface (include/ingot.h) wraps this class. A plain service delivers the outputs of
// a step to jobs on the engine's thread. This class keeps them until a caller fetches them.
//
//   engine's thread --take()--> Ticket: new part of each choice --+-- await(): any thread
//                                                                 +-- callbacks: their own thread
//
// The parts of a choice that have not been fetched yet are merged into one output. A slow consumer
// therefore gets fewer and longer outputs, and the engine never waits for it.
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

/// The new part of a choice. An output with a `reason` is the choice's last.
struct AwaitableOutput {
  RequestId request = 0;
  int32_t choice = 0;
  bool last = false; ///< the last output of the whole request
  std::optional<runtime::FinishReason> reason;
  std::optional<Error> error; ///< if there is one, `reason` is Cancelled
  std::vector<int32_t> ids;
  std::string text;
  std::vector<runtime::TokenLogprob> logprobs; ///< [ids][logprobsPerId]
  size_t logprobsPerId = 0;
  std::string stopString;
  int64_t promptTokens = 0, cachedTokens = 0, newTokens = 0;
  double queueMs = 0, ttftMs = 0, elapsedMs = 0;
};

struct AwaitableRequest {
  runtime::Request what;
  int32_t choices = 1;
  bool streaming = false; ///< true: an output per sampled token; false: one per choice, at its end
  std::function<void(const AwaitableOutput &)> onOutput; ///< empty: outputs are awaited
};

/// All public functions may be called from any thread.
class AwaitableService {
public:
  struct Options {
    runtime::SessionOptions session;
    service::ModelOptions model; ///< service.dispatch must be empty
  };
  /// Errors: all errors of Session::open and ServedModel::create.
  static Result<std::unique_ptr<AwaitableService>> open(const std::string &path, Options options);
  /// Cancels all requests and waits until they and their callbacks have ended.
  ~AwaitableService();
  AwaitableService(const AwaitableService &) = delete;
  AwaitableService &operator=(const AwaitableService &) = delete;

  service::ServedModel &model() const { return *served; }
  const runtime::Session &session() const { return served->session(); }

  /// Returns the id for the next request, so that hooks have it before the request is queued.
  RequestId newId() { return nextId.fetch_add(1); }
  /// Queues a request. Errors: all errors of Session::validate, Service::reserve and Service::submit; E0561 after
  /// shutdown().
  Result<void> enqueue(RequestId id, AwaitableRequest request);
  using Timeout = std::optional<std::chrono::milliseconds>; ///< none: no limit
  /// Waits for outputs of a request (0: of any) and returns all of them. There is at least one, or none
  /// if the time runs out. Errors: E0561, E0571, E0573, as ingot_await.
  Result<std::vector<AwaitableOutput>> await(RequestId id, Timeout timeout);
  size_t ready(RequestId id);
  void cancel(RequestId id);
  /// Shuts down as ingot_executor_shutdown does. Fails with E0574 in a callback or hook.
  Result<void> shutdown(Timeout wait);

private:
  class Ticket;
  using TicketRef = std::shared_ptr<Ticket>;

  AwaitableService() = default;
  void becameReady(const TicketRef &ticket); ///< the caller holds the mutex
  std::vector<AwaitableOutput> collect(const TicketRef &ticket);
  void ended();
  void runCallbacks();

  std::shared_ptr<service::ServedModel> served;
  std::atomic<RequestId> nextId = 1;
  /// Id of the engine's thread while it runs a hook. The hooks share it, since the thread of a step that
  /// was given up may outlive the executor.
  std::shared_ptr<std::atomic<std::thread::id>> hookThread =
      std::make_shared<std::atomic<std::thread::id>>();

  std::mutex mutex; ///< guards all fields below, and the fields of tickets
  std::unordered_map<RequestId, TicketRef> tickets; ///< until their last output is fetched
  std::deque<TicketRef> anyReady;                   ///< for await(0); some may have no outputs left
  std::condition_variable someReady, allEnded, called;
  int64_t underWay = 0; ///< tickets that have not ended, or that are still in their last callback
  bool closed = false, stopping = false;
  std::deque<TicketRef> calls; ///< tickets with outputs for their callback
  std::thread callbacks;       ///< started by the first request with a callback
};

} // namespace ingot::embed
