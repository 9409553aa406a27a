//===- Fleet.cpp - See Fleet.h ---------------------------------------------===//
#include "runtime/schedule/simulate/Fleet.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <utility>

namespace ingot::runtime {

namespace {

constexpr double kLook = 1; ///< interval in seconds of load checks (FleetScaling)

/// Kinds of events, in the order in which they happen at equal times.
enum class What : uint8_t { StepEnd, Fail, Ready, Look, Ended, Arrive, Deliver, StepBegin };

struct Event {
  double time;
  What what;
  uint64_t number; ///< order of creation, which decides ties
  size_t replica = 0;
  uint64_t life = 0; ///< the replica's life at creation; the replica may have failed since
  size_t request = 0;

  bool operator>(const Event &other) const {
    if (time != other.time)
      return time > other.time;
    return what != other.what ? what > other.what : number > other.number;
  }
};

/// Adds the counters of another life to `all`.
void sum(ScheduleStats &all, const ScheduleStats &more) {
  all.steps += more.steps;
  all.promptTokens += more.promptTokens;
  all.decodeTokens += more.decodeTokens;
  all.prefixQueries += more.prefixQueries;
  all.prefixHits += more.prefixHits;
  all.preemptions += more.preemptions;
  all.swaps += more.swaps;
  all.swappedBytes += more.swappedBytes;
  all.copiedPages += more.copiedPages;
}

class Fleet {
public:
  Fleet(const std::vector<SimulatedRequest> &requests, const FleetSetup &setup);
  FleetResult run();

private:
  enum class State : uint8_t { Off, Starting, Up, Draining, Down };

  struct Replica {
    State state = State::Off;
    uint64_t life = 0;
    std::unique_ptr<SimulatedReplica> service; ///< the current life's; null before the first life
    bool stepping = false, woken = false;
    std::deque<size_t> inbox; ///< requests that arrived during a step
    double paidFrom = 0;
    PoolTime time; ///< sum over earlier lives
    ScheduleStats stats;
    int64_t requests = 0;
  };

  void push(double time, What what, size_t replica = 0, size_t request = 0);
  void happen(const Event &event);
  void beginClosed();
  void arriveNext();
  // Requests.
  void submit(size_t request, double when);
  void arrive(size_t request);
  void route(size_t request);
  void deliver(size_t request, size_t to);
  void add(size_t request, size_t to);
  void ended(size_t request, size_t at);
  void goOn(size_t request);
  // Replicas.
  void wake(size_t replica);
  void stepBegin(size_t replica);
  void stepEnd(size_t replica);
  void start(size_t replica, double seconds);
  void ready(size_t replica);
  void fail(size_t replica);
  void turnOff(size_t replica);
  void keepFigures(Replica &replica);
  void look();
  int64_t wanted() const;
  int64_t count(State state) const { return std::ranges::count(replicas, state, &Replica::state); }
  FleetResult result();

  const std::vector<SimulatedRequest> &requests;
  const FleetSetup &setup;
  Tally tally;
  Router router;
  std::vector<Replica> replicas;
  std::vector<double> arrivals, reached;           ///< arrival time of each request, and the time
                                                   ///< when it reached its replica
  std::vector<std::vector<size_t>> followers;      ///< requests that follow each request; empty if
                                                   ///< no request follows another
  std::map<int64_t, std::deque<size_t>> waitingOf; ///< by user; only in a closed loop
  std::deque<size_t> homeless;                     ///< requests that no replica accepts

  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  uint64_t pushed = 0;
  std::vector<int32_t> prompt; ///< tokens of the request that is being sent
  double now = 0;
  size_t next = 0;   ///< index of the next request that follows no other
  size_t toCome = 0; ///< number of unfinished requests
  double fewerSince = std::numeric_limits<double>::infinity();
  FleetResult sums;
};

Fleet::Fleet(const std::vector<SimulatedRequest> &requests, const FleetSetup &setup)
    : requests(requests), setup(setup), tally(setup.replica.ttftLimit, setup.replica.itlLimit),
      router(setup.router, size_t(setup.replicas)), replicas(size_t(setup.replicas)),
      arrivals(requests.size()), reached(requests.size()), toCome(requests.size()) {
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i].follows >= 0) {
      followers.resize(requests.size());
      followers[size_t(requests[i].follows)].push_back(i);
    }
}

void Fleet::push(double time, What what, size_t replica, size_t request) {
  const uint64_t life = replica < replicas.size() ? replicas[replica].life : 0;
  events.push({time, what, pushed++, replica, life, request});
}

/// Schedules the next request that follows no other and has its own arrival time.
void Fleet::arriveNext() {
  while (next < requests.size() && requests[next].follows >= 0)
    ++next;
  if (next < requests.size())
    push(requests[next].arrival, What::Arrive, 0, next);
  else if (followers.empty())
    // All requests have arrived. With conversations, fairness counts until the end.
    tally.fairnessCounts = false;
}

void Fleet::beginClosed() {
  for (size_t i = 0; i < requests.size(); ++i)
    waitingOf[requests[i].user].push_back(i);
  next = requests.size();
  for (auto &[user, further] : waitingOf) {
    arrive(further.front());
    further.pop_front();
  }
}

/// Sends a request at time `when`. If that is now, it arrives at once: without a network delay, an answered client
/// sends its next request before any other client is answered.
void Fleet::submit(size_t request, double when) {
  if (when <= now)
    arrive(request);
  else
    push(when, What::Arrive, 0, request);
}

void Fleet::arrive(size_t request) {
  arrivals[request] = now;
  route(request);
}

void Fleet::route(size_t request) {
  prompt.clear();
  if (router.readsPrompts())
    promptOf(requests, request, prompt);
  const int64_t chosen = router.send(prompt, requests[request].session);
  if (chosen < 0) {
    homeless.push_back(request);
    return;
  }
  sums.router += setup.routerRequest;
  ++replicas[size_t(chosen)].requests;
  if (const double way = setup.routerRequest + setup.network; way > 0)
    push(now + way, What::Deliver, size_t(chosen), request);
  else
    deliver(request, size_t(chosen));
}

void Fleet::deliver(size_t request, size_t to) {
  Replica &replica = replicas[to];
  reached[request] = now;
  if (replica.stepping)
    replica.inbox.push_back(request);
  else
    add(request, to);
}

void Fleet::add(size_t request, size_t to) {
  replicas[to].service->add(request, arrivals[request], reached[request]);
  wake(to);
}

void Fleet::wake(size_t replica) {
  Replica &one = replicas[replica];
  if (one.stepping || std::exchange(one.woken, true))
    return;
  push(now, What::StepBegin, replica);
}

void Fleet::stepBegin(size_t index) {
  Replica &replica = replicas[index];
  replica.woken = false;
  if (const auto seconds = replica.service->begin(now)) {
    replica.stepping = true;
    push(now + *seconds, What::StepEnd, index);
  }
}

void Fleet::stepEnd(size_t index) {
  Replica &replica = replicas[index];
  replica.stepping = false;
  replica.service->end(now, [&](size_t request) { ended(request, index); });
  while (!replica.inbox.empty()) {
    add(replica.inbox.front(), index);
    replica.inbox.pop_front();
  }
  wake(index);
}

/// Called when the replica has answered the request. Router and client notice when the last token reaches them.
void Fleet::ended(size_t request, size_t at) {
  sums.router += setup.routerToken * double(requests[request].outputTokens);
  if (const double way = setup.network + setup.routerToken; way > 0)
    push(now + way, What::Ended, at, request);
  else {
    router.ended(at);
    goOn(request);
  }
}

/// Starts the requests that follow a finished one.
void Fleet::goOn(size_t request) {
  --toCome;
  if (!followers.empty())
    for (size_t one : followers[request])
      submit(one, std::max(requests[one].arrival, now + requests[one].think));
  if (!setup.replica.closed)
    return;
  std::deque<size_t> &further = waitingOf[requests[request].user];
  if (further.empty()) {
    tally.fairnessCounts = false;
    return;
  }
  const size_t one = further.front();
  further.pop_front();
  submit(one, now);
}

/// Takes a replica from Off to Up, through Starting if the start takes time.
void Fleet::start(size_t index, double seconds) {
  Replica &replica = replicas[index];
  replica.paidFrom = now;
  replica.state = State::Starting;
  if (seconds > 0)
    push(now + seconds, What::Ready, index);
  else
    ready(index);
}

void Fleet::ready(size_t index) {
  Replica &replica = replicas[index];
  keepFigures(replica);
  replica.service = std::make_unique<SimulatedReplica>(requests, setup.replica, tally,
                                                       setup.network + setup.routerToken);
  replica.state = State::Up;
  router.take(index, true);
  sums.mostUp = std::max(sums.mostUp, count(State::Up));
  for (size_t waiting = homeless.size(); waiting > 0; --waiting) {
    const size_t request = homeless.front();
    homeless.pop_front();
    route(request);
  }
}

/// Accumulates the figures of the life that has ended.
void Fleet::keepFigures(Replica &replica) {
  if (!replica.service)
    return;
  replica.time += replica.service->poolTime();
  sum(replica.stats, replica.service->stats());
  replica.service.reset();
}

void Fleet::fail(size_t index) {
  Replica &replica = replicas[index];
  if (replica.state != State::Up && replica.state != State::Draining)
    return;
  const bool comesBack = replica.state == State::Up;
  const auto pending = replica.service->pending();
  const auto inbox = std::exchange(replica.inbox, {});
  keepFigures(replica);
  ++replica.life; // invalidates its pending events
  replica.stepping = replica.woken = false;
  replica.state = State::Down;
  router.take(index, false);
  router.forget(index);
  auto again = [&](size_t request) {
    router.ended(index);
    ++sums.resent;
    route(request);
  };
  for (const auto &[request, times] : pending) {
    if (times.ids == 0) {
      again(request);
      continue;
    }
    sums.router += setup.routerToken * double(times.ids);
    router.ended(index);
    ++sums.failed;
    goOn(request);
  }
  for (size_t request : inbox)
    again(request);
  if (comesBack)
    push(now + setup.restartSeconds, What::Ready, index);
  else
    turnOff(index);
}

void Fleet::turnOff(size_t index) {
  Replica &replica = replicas[index];
  keepFigures(replica);
  ++replica.life;
  replica.state = State::Off;
  router.forget(index);
  sums.paid += now - replica.paidFrom;
}

int64_t Fleet::wanted() const {
  auto all = double(homeless.size());
  for (size_t i = 0; i < replicas.size(); ++i)
    all += double(router.load(i));
  return std::clamp(int64_t(std::ceil(all / setup.scaling.target)), setup.scaling.least,
                    setup.replicas);
}

void Fleet::look() {
  if (toCome == 0)
    return;
  push(now + kLook, What::Look);
  for (size_t i = 0; i < replicas.size(); ++i)
    if (replicas[i].state == State::Draining && router.load(i) == 0)
      turnOff(i);
  // A failed replica restarts by itself.
  int64_t there = count(State::Up) + count(State::Starting) + count(State::Down);
  const int64_t want = wanted();
  for (size_t i = 0; i < replicas.size() && there < want; ++i)
    if (replicas[i].state == State::Off) {
      start(i, setup.scaling.startSeconds);
      ++there;
    }
  if (want >= there) {
    fewerSince = std::numeric_limits<double>::infinity();
    return;
  }
  fewerSince = std::min(fewerSince, now);
  if (now - fewerSince < setup.scaling.downSeconds)
    return;
  for (size_t i = replicas.size(); i-- > 0 && there > want;)
    if (replicas[i].state == State::Up) {
      replicas[i].state = State::Draining;
      router.take(i, false);
      --there;
    }
  fewerSince = std::numeric_limits<double>::infinity();
}

void Fleet::happen(const Event &event) {
  const size_t replica = event.replica;
  if (event.life != replicas[replica].life) {
    // The replica's life has ended. Its connection is refused or breaks, so the router notices at once.
    if (event.what == What::Deliver) {
      ++sums.resent;
      router.ended(replica);
      route(event.request);
      return;
    }
    if (event.what == What::StepBegin || event.what == What::StepEnd)
      return;
  }
  switch (event.what) {
  case What::StepEnd:
    return stepEnd(replica);
  case What::Fail:
    return fail(replica);
  case What::Ready:
    return ready(replica);
  case What::Look:
    return look();
  case What::Ended:
    router.ended(replica);
    return goOn(event.request);
  case What::Arrive:
    arrive(event.request);
    if (event.request == next) {
      ++next;
      arriveNext();
    }
    return;
  case What::Deliver:
    return deliver(event.request, replica);
  case What::StepBegin:
    return stepBegin(replica);
  }
}

FleetResult Fleet::run() {
  const bool scales = setup.scaling.target > 0;
  const int64_t first = scales ? setup.scaling.least : setup.replicas;
  for (size_t i = 0; i < size_t(first); ++i)
    start(i, 0);
  for (const ReplicaFailure &failure : setup.failures)
    push(failure.at, What::Fail, size_t(failure.replica));
  if (setup.replica.closed)
    beginClosed();
  else
    arriveNext();
  if (scales)
    look();
  while (toCome > 0 && !events.empty()) {
    const Event event = events.top();
    events.pop();
    now = event.time;
    happen(event);
  }
  return result();
}

FleetResult Fleet::result() {
  FleetResult result = std::move(sums);
  result.whole = tally.result(now);
  PoolTime all;
  double mostBusy = 0;
  for (Replica &replica : replicas) {
    if (replica.state != State::Off)
      result.paid += now - replica.paidFrom;
    keepFigures(replica);
    ReplicaFigures own{replica.requests, replica.time.steps, 0, 0, replica.stats};
    if (own.busy > 0)
      own.poolUse = replica.time.held / own.busy / double(setup.replica.pages);
    own.mostPoolUse = double(replica.time.most) / double(setup.replica.pages);
    mostBusy = std::max(mostBusy, own.busy);
    all += replica.time;
    sum(result.whole.stats, replica.stats);
    result.replicas.push_back(own);
  }
  if (all.held > 0)
    result.whole.waste = all.waste / all.held;
  if (all.steps > 0) {
    result.whole.poolUse = all.held / all.steps / double(setup.replica.pages);
    // Replicas that scaling never started are excluded.
    const auto needed = std::ranges::count_if(
        result.replicas, [&](const ReplicaFigures &one) { return one.requests > 0; });
    result.imbalance =
        mostBusy * double(setup.scaling.target > 0 ? needed : setup.replicas) / all.steps;
  }
  return result;
}

} // namespace

FleetResult simulateFleet(const std::vector<SimulatedRequest> &requests, const FleetSetup &setup) {
  return Fleet(requests, setup).run();
}

} // namespace ingot::runtime
