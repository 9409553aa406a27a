//===- AwaitableService.cpp - From jobs to awaitable outputs --------------===//
#include "runtime/embed/AwaitableService.h"

#include <algorithm>

namespace ingot::embed {

using Clock = std::chrono::steady_clock;

namespace {

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

Error closedError() {
  return {ExitCode::Device, errors::kShuttingDown, "the executor was shut down",
          "it accepts no more requests", "open another one"};
}

} // namespace

/// A request under way. The executor's mutex guards its fields.
class AwaitableService::Ticket final
    : public service::Job,
      public std::enable_shared_from_this<AwaitableService::Ticket> {
public:
  Ticket(AwaitableService &owner, RequestId id, const AwaitableRequest &request)
      : owner(owner), id(id), streaming(request.streaming), onOutput(request.onOutput),
        parts(size_t(request.choices)), open(request.choices) {
    for (int32_t i = 0; i < request.choices; ++i)
      fresh(i);
    if (request.what.sampling.topLogprobs >= 0)
      logprobsPerId = size_t(request.what.sampling.topLogprobs) + 1;
    promptTokens = int64_t(request.what.promptIds.size());
  }

  void take(service::Output &output) override;
  bool hasEnded() const { return open == 0; }

  AwaitableService &owner;
  const RequestId id;
  const bool streaming;
  const std::function<void(const AwaitableOutput &)> onOutput;
  std::deque<int32_t> readyChoices; ///< choices with a part to fetch, each listed once
  bool queued = false;              ///< the ticket is in anyReady or calls
  std::atomic<bool> over = false;   ///< no hook is called any more; read and set by any thread
  std::condition_variable changed;

  /// Moves out the part of the first ready choice.
  AwaitableOutput fetch();

private:
  void fresh(int32_t choice) {
    Part &part = parts[size_t(choice)];
    part.output = AwaitableOutput{};
    part.output.request = id;
    part.output.choice = choice;
    part.listed = false;
  }
  struct Part {
    AwaitableOutput output;
    int64_t newTokens = 0;
    bool listed = false; ///< the choice is in readyChoices
  };

  std::vector<Part> parts;
  int32_t open;
  size_t logprobsPerId = 0;
  int64_t promptTokens = 0;
  const Clock::time_point begun = Clock::now();
  double ttftMs = 0;
};

void AwaitableService::Ticket::take(service::Output &output) {
  const double now = milliseconds(Clock::now() - begun);
  std::lock_guard lock(owner.mutex);
  Part &part = parts[size_t(output.choice)];
  AwaitableOutput &out = part.output;
  out.elapsedMs = now;
  if (output.kind == service::Output::Kind::Token) {
    if (output.id >= 0) {
      if (ttftMs == 0)
        ttftMs = now;
      out.ids.push_back(output.id);
      out.logprobs.insert(out.logprobs.end(), output.logprobs.begin(), output.logprobs.end());
      ++part.newTokens;
    }
    out.text += output.text;
  } else {
    out.reason = output.reason;
    out.error = std::move(output.error);
    out.stopString = std::move(output.stopString);
    out.cachedTokens = output.cachedTokens;
    if (output.times.scheduled) // both times are of the same clock
      out.queueMs =
          milliseconds(std::chrono::nanoseconds(output.times.scheduled) - begun.time_since_epoch());
    part.newTokens = output.newTokens;
    out.last = --open == 0;
    over = out.last;           // stops hooks, since a step that was given up may still reach rows
    if (out.last && !onOutput) // with a callback, the ticket ends after the last call
      owner.ended();
  }
  out.newTokens = part.newTokens;
  if (!part.listed && (streaming || out.reason)) {
    part.listed = true;
    readyChoices.push_back(output.choice);
    owner.becameReady(shared_from_this());
  }
}

AwaitableOutput AwaitableService::Ticket::fetch() {
  const int32_t choice = readyChoices.front();
  readyChoices.pop_front();
  AwaitableOutput out = std::move(parts[size_t(choice)].output);
  fresh(choice);
  out.promptTokens = promptTokens;
  out.logprobsPerId = logprobsPerId;
  out.ttftMs = ttftMs;
  return out;
}

Result<std::unique_ptr<AwaitableService>> AwaitableService::open(const std::string &path,
                                                                 Options options) {
  auto session = runtime::Session::open(path, options.session);
  if (!session)
    return session.error();
  auto model = service::ServedModel::create(std::move(*session), std::move(options.model));
  if (!model)
    return model.error();
  std::unique_ptr<AwaitableService> executor(new AwaitableService);
  executor->served = std::move(*model);
  return executor;
}

AwaitableService::~AwaitableService() {
  (void)shutdown(std::chrono::milliseconds(0));
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  called.notify_all();
  if (callbacks.joinable())
    callbacks.join();
}

Result<void> AwaitableService::enqueue(RequestId id, AwaitableRequest request) {
  auto place = served->service().reserve();
  if (!place)
    return place.error();
  auto ticket = std::make_shared<Ticket>(*this, id, request);
  if (request.what.onLogits)
    request.what.onLogits = [ticket, thread = hookThread,
                             hook = std::move(request.what.onLogits)](const auto &row) {
      if (ticket->over)
        return;
      *thread = std::this_thread::get_id();
      hook(row);
      *thread = std::thread::id();
    };
  {
    std::lock_guard lock(mutex);
    if (closed)
      return closedError();
    if (ticket->onOutput && !callbacks.joinable())
      callbacks = std::thread([this] { runCallbacks(); });
    tickets.emplace(id, ticket);
    ++underWay;
  }
  auto valid = session().validate(std::move(request.what), request.choices);
  auto queued = valid ? served->service().submit(std::move(*valid), ticket, std::move(*place))
                      : Result<void>(valid.error());
  if (!queued) {
    std::lock_guard lock(mutex);
    tickets.erase(id);
    ended();
    ticket->changed.notify_all();
  }
  return queued;
}

void AwaitableService::ended() {
  --underWay;
  allEnded.notify_all();
  if (closed)
    someReady.notify_all(); // wakes await(0), because no outputs will follow
}

void AwaitableService::becameReady(const TicketRef &ticket) {
  ticket->changed.notify_all();
  if (std::exchange(ticket->queued, true))
    return;
  if (ticket->onOutput) {
    calls.push_back(ticket);
    called.notify_one();
  } else {
    anyReady.push_back(ticket);
    someReady.notify_one();
  }
}

std::vector<AwaitableOutput> AwaitableService::collect(const TicketRef &ticket) {
  std::vector<AwaitableOutput> outputs;
  while (!ticket->readyChoices.empty())
    outputs.push_back(ticket->fetch());
  // A choice keeps its place in readyChoices while its part grows, so the request's last output may be
  // anywhere. Move it to the end.
  auto last = std::ranges::find(outputs, true, &AwaitableOutput::last);
  if (last != outputs.end())
    std::rotate(last, last + 1, outputs.end());
  if (ticket->hasEnded()) {
    tickets.erase(ticket->id);
    ticket->changed.notify_all();
  }
  return outputs;
}

Result<std::vector<AwaitableOutput>> AwaitableService::await(RequestId id, Timeout timeout) {
  std::unique_lock lock(mutex);
  auto wait = [&](std::condition_variable &signal, auto &&done) {
    if (timeout)
      signal.wait_for(lock, *timeout, done);
    else
      signal.wait(lock, done);
  };
  std::vector<AwaitableOutput> outputs;
  if (id == 0) {
    auto take = [&] {
      for (; !anyReady.empty(); anyReady.pop_front()) {
        const TicketRef ticket = anyReady.front();
        ticket->queued = false;
        for (AwaitableOutput &output : collect(ticket))
          outputs.push_back(std::move(output));
      }
      return !outputs.empty() || (closed && underWay == 0);
    };
    wait(someReady, take);
    if (outputs.empty() && closed && underWay == 0)
      return closedError();
    return outputs;
  }
  auto found = tickets.find(id);
  if (found == tickets.end())
    return Error{ExitCode::Usage, "E0571", "there is no request " + std::to_string(id),
                 "its last output was already returned, or it never existed",
                 "stop awaiting a request after the output marked as last"};
  const TicketRef ticket = found->second;
  if (ticket->onOutput)
    return Error{ExitCode::Usage, "E0573", "outputs of this request cannot be awaited",
                 "they are passed to its callback", "omit the callback"};
  auto gone = [&] { return !tickets.contains(id); };
  wait(ticket->changed, [&] { return !ticket->readyChoices.empty() || gone(); });
  outputs = collect(ticket);
  if (std::exchange(ticket->queued, false))
    std::erase(anyReady, ticket);
  if (outputs.empty() && gone())
    return Error{ExitCode::Usage, "E0571", "there is no request " + std::to_string(id),
                 "another thread received its last output in the meantime",
                 "await a request on one thread"};
  return outputs;
}

size_t AwaitableService::ready(RequestId id) {
  std::lock_guard lock(mutex);
  if (id) {
    auto found = tickets.find(id);
    return found == tickets.end() || found->second->onOutput ? 0
                                                             : found->second->readyChoices.size();
  }
  size_t count = 0;
  for (const TicketRef &ticket : anyReady)
    count += ticket->readyChoices.size();
  return count;
}

void AwaitableService::cancel(RequestId id) {
  std::unique_lock lock(mutex);
  auto found = tickets.find(id);
  if (found == tickets.end())
    return;
  const TicketRef ticket = found->second;
  lock.unlock();
  served->service().cancel(*ticket);
}

Result<void> AwaitableService::shutdown(Timeout wait) {
  std::unique_lock lock(mutex);
  const auto here = std::this_thread::get_id();
  if (here == *hookThread || (callbacks.joinable() && here == callbacks.get_id()))
    return Error{ExitCode::Usage, "E0574", "a callback cannot shut down its own executor",
                 "it would deadlock", "shut it down from another thread"};
  closed = true;
  someReady.notify_all();
  auto idle = [&] { return underWay == 0; };
  if (!wait) {
    allEnded.wait(lock, idle);
    return {};
  }
  if (allEnded.wait_for(lock, *wait, idle))
    return {};
  for (const auto &[id, ticket] : tickets)
    if (!ticket->hasEnded())
      served->service().cancel(*ticket);
  allEnded.wait(lock, idle);
  return {};
}

void AwaitableService::runCallbacks() {
  std::unique_lock lock(mutex);
  while (true) {
    called.wait(lock, [&] { return stopping || !calls.empty(); });
    if (calls.empty())
      return;
    const TicketRef ticket = std::move(calls.front());
    calls.pop_front();
    ticket->queued = false;
    const std::vector<AwaitableOutput> outputs = collect(ticket);
    lock.unlock();
    for (const AwaitableOutput &output : outputs)
      ticket->onOutput(output);
    lock.lock();
    if (!outputs.empty() && outputs.back().last)
      ended();
  }
}

} // namespace ingot::embed
