//===- Service.cpp - The engine's thread and its queues -------------------===//
#include "runtime/service/Service.h"

#include "runtime/device/Trace.h"
#include "runtime/engine/Inspect.h"

#include <algorithm>
#include <cassert>

namespace ingot::service {

using runtime::nowNanoseconds;

namespace {

constexpr uint64_t kLookedAtFor = 5'000'000'000; ///< ns

double secondsBetween(uint64_t from, uint64_t to) {
  return to > from ? double(to - from) * 1e-9 : 0.0;
}

Error queueFull(const std::string &why) {
  return {ExitCode::Device, errors::kQueueFull, "the server has no capacity for this request now",
          why, "try again later"};
}

Error endedByHand() {
  return {ExitCode::Device, "E0559", "the request was cancelled", "by POST /live/cancel",
          "send it again"};
}

Error shuttingDown() {
  return {ExitCode::Device, errors::kShuttingDown, "the server is shutting down", "",
          "try another one"};
}

} // namespace

Reservation &Reservation::operator=(Reservation &&other) noexcept {
  std::swap(count, other.count);
  std::swap(choices, other.choices);
  std::swap(resumed, other.resumed);
  return *this;
}

void Reservation::release() {
  if (choices) {
    [[maybe_unused]] const int64_t before = count->fetch_sub(choices);
    assert(before >= choices && "more places are given back than were reserved");
  }
  choices = 0;
}

std::unique_ptr<Service> Service::create(std::unique_ptr<runtime::Session> session,
                                         ServiceOptions options) {
  return std::unique_ptr<Service>(new Service(std::move(session), std::move(options)));
}

Service::Service(std::unique_ptr<runtime::Session> session, ServiceOptions given)
    : engine(std::move(session)), options(std::move(given)) {
  if (!options.dispatch)
    options.dispatch = [](const std::function<void()> &work) { work(); };
  stepLimit = options.stepLimit;
  if (stepLimit < 0) // an emulated step has no limit
    stepLimit = engine->target().starts_with("cuda-emulator")
                    ? 0
                    : std::max(kLeastStepLimit, 20 * engine->longestStep());
  firstStepLimit = options.stepLimit < 0 ? 10 * stepLimit : stepLimit;
  measured.update([&](Measurements &m) { m.pageTokens = int64_t(engine->memory().pageTokens); });
  publish();
  thread = std::thread([this] { run(); });
  if (stepLimit > 0)
    watchdog = std::thread([this] { watch(); });
}

Service::~Service() {
  stop();
  if (thread.joinable())
    thread.join();
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  overNow.notify_one();
  if (watchdog.joinable())
    watchdog.join();
}

bool Service::stop(double patience) {
  std::unique_lock lock(mutex);
  stopping = true;
  wake.notify_one();
  leftNow.wait_for(lock, std::chrono::duration<double>(patience), [&] { return left || lost; });
  return left;
}

// ------------------------------------------------------------- from any thread

Result<Reservation> Service::reserve(bool counts) {
  const int64_t room = engine->maxSeqs() + options.queueRequests;
  Reservation place;
  if (taken->fetch_add(1) >= room) {
    taken->fetch_sub(1);
    if (counts)
      measured.update([](Measurements &m) { ++m.refused; });
    return queueFull(std::to_string(engine->maxSeqs()) + " are running and " +
                     std::to_string(options.queueRequests) + " are already waiting");
  }
  place.count = taken;
  place.choices = 1;
  return place;
}

Reservation Service::resume() {
  taken->fetch_add(1);
  Reservation place;
  place.count = taken;
  place.choices = 1;
  place.resumed = true;
  return place;
}

Result<void> Service::submit(runtime::ValidatedRequest request, std::shared_ptr<Job> job,
                             Reservation place) {
  assert(place.choices == 1 && "the caller has reserved a place");
  if (auto reserved = engine->reserveStates(request); !reserved) {
    measured.update([](Measurements &m) { ++m.refused; });
    return reserved;
  }
  const int32_t choices = request.choices();
  const int64_t room = engine->maxSeqs() + options.queueRequests;
  if (taken->fetch_add(choices - 1) + choices - 1 > room && !place.resumed) {
    taken->fetch_sub(choices - 1);
    measured.update([](Measurements &m) { ++m.refused; });
    return queueFull(std::to_string(choices) + " choices do not fit: too few of the " +
                     std::to_string(room) + " places for running and queued sequences are free");
  }
  place.choices = choices;
  const auto tokens = int64_t(request.promptIds().size());
  const bool alone = waitingTokens.fetch_add(tokens) == 0;
  if (!alone && waitingTokens.load() > options.queueTokens && !place.resumed) {
    waitingTokens.fetch_sub(tokens);
    measured.update([](Measurements &m) { ++m.refused; });
    return queueFull(std::to_string(tokens) +
                     " prompt tokens do not fit: the queue is limited to " +
                     std::to_string(options.queueTokens) + " waiting tokens");
  }
  job->promptTokens = tokens;
  job->reserved = nowNanoseconds();
  job->resumed = place.resumed;
  std::lock_guard lock(mutex);
  if (stopping || (refusing && !place.resumed) || failed) {
    waitingTokens.fetch_sub(tokens);
    return failed ? *failed : shuttingDown();
  }
  place.choices = 0;                            // the job owns the place from now on
  if (submitted.size() == submitted.capacity()) // drop destroyed jobs before the vector grows
    std::erase_if(submitted, [](const std::weak_ptr<Job> &one) { return one.expired(); });
  submitted.push_back(job);
  commands.push_back({std::move(request), std::move(job)});
  wake.notify_one();
  return {};
}

void Service::cancel(Job &job) {
  job.cancelled.store(true, std::memory_order_relaxed);
  wake.notify_one();
}

size_t Service::end(std::string_view name, int owner) {
  std::vector<std::shared_ptr<Job>> found, others; // references are released after the mutex
  std::lock_guard lock(mutex);
  for (const std::weak_ptr<Job> &one : submitted) {
    auto job = one.lock();
    if (!job)
      continue;
    const bool named = job->name == name && job->owner == owner && !job->cancelled && !job->over;
    (named ? found : others).push_back(std::move(job));
  }
  for (const auto &job : found) {
    job->byHand = true;
    job->cancelled = true;
  }
  wake.notify_one();
  return found.size();
}

void Service::refuseWaiting() {
  {
    std::lock_guard lock(mutex);
    refusing = true;
  }
  wake.notify_one();
}

runtime::ScheduleStats Service::stats() const {
  std::lock_guard lock(mutex);
  return published;
}

std::vector<RequestView> Service::requests() const {
  lastLook.store(nowNanoseconds(), std::memory_order_relaxed);
  std::lock_guard lock(mutex);
  return views;
}

std::shared_ptr<const Error> Service::failure() const {
  std::lock_guard lock(mutex);
  return failed;
}

bool Service::hung() const {
  std::lock_guard lock(mutex);
  return failed && failed->code == errors::kStepHangs && steps.load() % 2 == 1;
}

int64_t Service::retryAfter() const {
  const Measurements m = measured.read();
  if (m.endToEnd.count() == 0)
    return 1;
  // The mean time of a request, divided by the number of requests that run at once.
  double each = m.endToEnd.sum() / double(m.endToEnd.count()) / double(engine->maxSeqs());
  double wait = each * double(std::max<int64_t>(1, underWay() - engine->maxSeqs()));
  return std::clamp<int64_t>(int64_t(wait + 0.999), 1, 600);
}

// ------------------------------------------------------------- the engine's thread

void Service::run() {
  serve();
  {
    std::lock_guard lock(mutex);
    left = true;
  }
  leftNow.notify_all();
}

/// Calls Session::workAhead() while the engine is idle. Increments `steps` as step() does.
bool Service::workAhead() {
  if (broken)
    return false;
  steps.fetch_add(1);
  bool more = false;
  try {
    more = engine->workAhead();
  } catch (const std::exception &) { // not an error, because steps do this work if needed
  }
  steps.fetch_add(1);
  return more;
}

/// Begins new commands. The caller holds `turn`. An exception breaks the engine, like an exception in
/// a step.
void Service::take(std::vector<Command> &fresh) {
  for (auto command = fresh.begin(); command != fresh.end(); ++command) {
    std::shared_ptr<Job> job = command->job;
    const int32_t choices = command->request.choices();
    try {
      begin(std::move(*command));
    } catch (const std::exception &thrown) {
      adopt(std::move(job), choices);
      while (++command != fresh.end())
        adopt(std::move(command->job), command->request.choices());
      broken = true;
      fail(stepThrew(thrown.what()));
      break;
    }
  }
  fresh.clear();
}

void Service::serve() {
  std::vector<Command> fresh;
  uint64_t stepEnd = nowNanoseconds();
  bool working = false; ///< jobs are under way
  while (true) {
    bool leaving, onlyStarted;
    {
      std::unique_lock lock(mutex);
      const auto woken = [&] { return stopping || !commands.empty() || working; };
      while (!woken()) {
        lock.unlock();
        const bool more = workAhead();
        lock.lock();
        if (!more)
          wake.wait(lock, woken);
      }
      fresh.swap(commands);
      leaving = stopping;
      onlyStarted = refusing;
    }
    std::unique_lock hold(turn);
    if (abandoned || (leaving && fresh.empty() && jobs.empty()))
      return;
    const bool wasIdle = jobs.empty();
    take(fresh);
    if (onlyStarted)
      refuseUnstarted();
    if (leaving)
      for (const auto &job : jobs)
        job->cancelled.store(true, std::memory_order_relaxed);

    hold.unlock();
    const uint64_t stepBegin = nowNanoseconds();
    const bool worked = step();
    const uint64_t end = nowNanoseconds();
    hold.lock();
    if (abandoned)
      return;
    size_t newTokens = deliveries.size();
    noteStarted(stepBegin);
    collect();
    if (worked) {
      measured.update([&](Measurements &m) {
        ++m.steps;
        m.stepSeconds += secondsBetween(stepBegin, end);
        if (!wasIdle)
          m.hostSeconds += secondsBetween(stepEnd, stepBegin);
        m.stepTime.observe(secondsBetween(stepBegin, end));
        m.stepTokens.observe(double(newTokens));
      });
    }
    stepEnd = end;
    publish();
    deliver();
    working = !jobs.empty();
  }
}

void Service::begin(Command command) {
  std::shared_ptr<Job> job = std::move(command.job);
  runtime::ValidatedRequest &request = command.request;
  const runtime::RequestSettings &settings = request.settings();
  job->ids.assign(size_t(request.choices()), -1);
  job->lastToken.assign(size_t(request.choices()), 0);
  job->open = request.choices();
  measured.update([&](Measurements &m) {
    m.promptTokens += uint64_t(job->promptTokens);
    m.promptLength.observe(double(job->promptTokens));
    m.askedChoices.observe(double(request.choices()));
    if (settings.maxTokens >= 0)
      m.askedTokens.observe(double(settings.maxTokens));
  });
  jobs.push_back(job);
  const uint32_t firstChoice = settings.sampling.choice;
  request.hooks.cancel = &job->cancelled;
  request.hooks.onToken = [this, job, firstChoice](const runtime::TokenEvent &event) {
    onToken(job, int32_t(event.choice - firstChoice), event);
  };
  if (settings.promptLogprobs >= 0)
    request.hooks.onPrompt = [this, job](std::vector<runtime::PromptScore> scores) {
      onPrompt(job, std::move(scores));
    };
  if (settings.reportProgress)
    request.hooks.onProgress = [this, job](const runtime::PromptProgress &progress) {
      onProgress(job, progress);
    };
  auto ids = engine->submit(std::move(request));
  if (ids) {
    job->ids = std::move(*ids);
    return;
  }
  for (size_t i = 0; i < job->ids.size(); ++i) {
    Output output;
    output.error = ids.error(); // the request is valid, so only the device can have failed
    output.reason = runtime::FinishReason::Cancelled;
    end(job, i, std::move(output));
  }
}

void Service::refuseUnstarted() {
  for (const auto &job : jobs)
    if (!job->resumed &&
        std::ranges::none_of(job->ids, [&](auto id) { return id < 0 || engine->started(id); })) {
      job->refused = true;
      job->cancelled.store(true, std::memory_order_relaxed);
    }
}

/// Notes the end of the queue time of jobs that took part in a step for the first time.
void Service::noteStarted(uint64_t stepBegin) {
  for (const auto &job : jobs)
    if (!job->times.scheduled &&
        std::ranges::any_of(job->ids, [&](auto id) { return id >= 0 && engine->started(id); })) {
      job->times.scheduled = stepBegin;
      [[maybe_unused]] const int64_t before = waitingTokens.fetch_sub(job->promptTokens);
      assert(before >= job->promptTokens && "its prompt was not counted as waiting");
    }
}

void Service::onPrompt(const std::shared_ptr<Job> &job, std::vector<runtime::PromptScore> scores) {
  std::lock_guard hold(turn);
  if (abandoned)
    return;
  Output output;
  output.kind = Output::Kind::Prompt;
  output.scores = std::move(scores);
  deliveries.push_back({job, std::move(output)});
}

void Service::onProgress(const std::shared_ptr<Job> &job, const runtime::PromptProgress &progress) {
  std::lock_guard hold(turn);
  if (abandoned)
    return;
  Output output;
  output.kind = Output::Kind::Progress;
  output.computed = progress.computed;
  output.cachedTokens = progress.cached;
  output.at = nowNanoseconds();
  output.times = job->times;
  deliveries.push_back({job, std::move(output)});
}

void Service::onToken(const std::shared_ptr<Job> &job, int32_t choice,
                      const runtime::TokenEvent &event) {
  std::lock_guard hold(turn);
  if (abandoned)
    return; // the job has ended already
  assert(choice >= 0 && size_t(choice) < job->lastToken.size() && "the job has no such choice");
  const uint64_t now = nowNanoseconds();
  uint64_t &last = job->lastToken[size_t(choice)];
  if (event.id >= 0) {
    measured.update([&](Measurements &m) {
      ++m.generationTokens;
      m.recent.add(now);
      if (last)
        m.interTokenLatency.observe(secondsBetween(last, now));
      else
        m.timeToFirstToken.observe(secondsBetween(job->reserved, now));
    });
    if (!job->times.firstToken)
      job->times.firstToken = now;
    last = job->times.lastToken = now;
    ++job->newTokens;
  }
  Output output;
  output.choice = choice;
  output.id = event.id;
  output.text = event.text;
  output.pieces.assign(event.pieces.begin(), event.pieces.end());
  output.logprobs.assign(event.logprobs.begin(), event.logprobs.end());
  output.cachedTokens = event.cachedTokens;
  output.times = job->times;
  deliveries.push_back({job, std::move(output)});
}

/// Turns finished answers into End outputs.
void Service::collect() {
  const Error *failure = engine->failure();
  for (size_t j = 0; j < jobs.size();) {
    std::shared_ptr<Job> job = jobs[j];
    for (size_t i = 0; i < job->ids.size(); ++i) {
      if (job->ids[i] < 0 || !engine->finished(job->ids[i]))
        continue;
      runtime::Completion answer = engine->take(job->ids[i]);
      Output output;
      output.reason = answer.finishReason;
      output.stopString = std::move(answer.stopString);
      output.reasoningTokens = answer.reasoningTokens;
      output.toolCalls = answer.toolCalls;
      output.stopId = answer.stopId;
      output.embedding = std::move(answer.embedding);
      output.newTokens = answer.drawn;
      output.cachedTokens = answer.cachedTokens;
      if (answer.finishReason == runtime::FinishReason::Cancelled && failure)
        output.error = *failure;
      else if (answer.failure)
        output.error = answer.failure;
      else if (answer.finishReason == runtime::FinishReason::Cancelled && job->byHand)
        output.error = endedByHand();
      else if (answer.finishReason == runtime::FinishReason::Cancelled && job->refused)
        output.error = shuttingDown();
      end(job, i, std::move(output));
    }
    if (job->open)
      ++j;
    else
      jobs.erase(jobs.begin() + std::ptrdiff_t(j));
  }
}

void Service::end(const std::shared_ptr<Job> &job, size_t choice, Output output) {
  assert(choice < job->ids.size() && job->open > 0 && "every choice ends once");
  job->ids[choice] = -1;
  [[maybe_unused]] const int64_t places = taken->fetch_sub(1);
  assert(places >= 1 && "the choice has no place among those under way");
  output.kind = Output::Kind::End;
  output.choice = int32_t(choice);
  output.times = job->times;
  const JobTimes &times = job->times;
  const uint64_t now = nowNanoseconds();
  job->over = --job->open == 0;
  if (job->over && !times.scheduled) {
    [[maybe_unused]] const int64_t before = waitingTokens.fetch_sub(job->promptTokens);
    assert(before >= job->promptTokens && "its prompt was not counted as waiting");
  }
  measured.update([&](Measurements &m) {
    Ending ending = output.error                                     ? Ending::Error
                    : output.reason == runtime::FinishReason::Stop   ? Ending::Stop
                    : output.reason == runtime::FinishReason::Length ? Ending::Length
                                                                     : Ending::Abort;
    ++m.endings[size_t(ending)];
    if (ending != Ending::Stop && ending != Ending::Length)
      return;
    if (job->open == 0) // once per job, because its choices share the prompt
      m.computedPrompt.observe(double(job->promptTokens - output.cachedTokens));
    m.endToEnd.observe(secondsBetween(job->reserved, now));
    m.answerLength.observe(double(output.newTokens));
    if (times.scheduled) {
      m.queueTime.observe(secondsBetween(job->reserved, times.scheduled));
      m.inferenceTime.observe(secondsBetween(times.scheduled, now));
    }
    if (times.scheduled && times.firstToken)
      m.prefillTime.observe(secondsBetween(times.scheduled, times.firstToken));
    if (times.firstToken) {
      m.decodeTime.observe(secondsBetween(times.firstToken, now));
      if (output.newTokens > 1)
        m.timePerToken.observe(secondsBetween(times.firstToken, now) /
                               double(output.newTokens - 1));
    }
  });
  deliveries.push_back({job, std::move(output)});
}

void Service::deliver() {
  if (deliveries.empty())
    return;
  // std::function requires a copyable callable.
  auto step = std::make_shared<std::vector<Delivery>>(std::move(deliveries));
  deliveries.clear();
  deliveries.reserve(step->size());
  // The deliveries are moved, not copied, so that jobs are released on the consumer's thread.
  options.dispatch([step = std::move(step)] {
    for (Delivery &delivery : *step)
      try {
        delivery.job->take(delivery.output);
      } catch (const std::exception &) { // out of memory: only this job's answer is lost
        delivery.job->cancelled.store(true, std::memory_order_relaxed);
      }
  });
}

std::vector<RequestView> Service::look() const {
  std::vector<RequestView> seen;
  const uint64_t now = nowNanoseconds();
  const uint64_t looked = lastLook.load(std::memory_order_relaxed);
  if (looked == 0 || now > looked + kLookedAtFor)
    return seen;
  seen.reserve(jobs.size());
  for (const auto &job : jobs) {
    using State = RequestView::State;
    seen.push_back({job->name,
                    job->times.firstToken  ? State::Decode
                    : job->times.scheduled ? State::Prefill
                                           : State::Queued,
                    job->open, job->promptTokens, job->newTokens,
                    secondsBetween(job->reserved, now)});
  }
  return seen;
}

void Service::publish() {
  if (broken)
    return; // the statistics of a broken engine are meaningless
  std::vector<RequestView> seen = look();
  const runtime::ScheduleStats now = engine->stats();
  measured.update([&](Measurements &m) {
    m.running = now.running;
    m.waiting = now.waiting;
    m.pagesUsed = now.pagesUsed;
    m.pages = now.pages;
    m.preemptions = now.preemptions;
    m.prefixQueries = now.prefixQueries;
    m.prefixHits = now.prefixHits;
    m.pagesCached = now.pagesCached;
    m.swaps = now.swaps;
    m.swappedBytes = now.swappedBytes;
    m.swapBytesUsed = now.swapBytesUsed;
    m.forks = now.forks;
    m.copiedPages = now.copiedPages;
  });
  std::lock_guard lock(mutex);
  views = std::move(seen);
  published = now;
  if (!failed && engine->failure())
    failed = std::make_shared<Error>(*engine->failure());
}

} // namespace ingot::service
