//===- ServiceFailure.cpp - Steps that throw or do not end ------------------===//
//
//   engine's thread   step() ---------- engine->step() ----------> collect, deliver
//                       |  steps: odd      no lock       even         turn
//   watchdog          look   look   look   limit: locks turn, steps is still the same
//                                          -> everything under way ends, the engine is abandoned
//
// Everything that the engine reports after that is dropped, because onToken() and serve() check
// `abandoned` while they hold `turn`.
//===----------------------------------------------------------------------===//
#include "runtime/service/Service.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace ingot::service {

namespace {

Error stepHangs(double seconds, double longest) {
  char given[64], most[96] = "";
  std::snprintf(given, sizeof given, "it was abandoned after %.3g s", seconds);
  if (longest > 0)
    std::snprintf(most, sizeof most,
                  "; according to the engine's costs, a step takes at most %.3g s", longest);
  return {
      ExitCode::Device, errors::kStepHangs, "a step of the engine does not end",
      std::string(given) + most,
      "start it again; --step-limit SECONDS of ingot serve or step_limit of an embedder raise the "
      "limit, 0 disables it"};
}

} // namespace

Error Service::stepThrew(const char *what) {
  return {ExitCode::Device, "E0726", "a step of the engine failed", what, "start it again"};
}

/// Runs one step of the engine and increments `steps` before and after it, for the watchdog. A step
/// that throws leaves the engine in an unknown state, so no further step runs.
bool Service::step() {
  if (broken)
    return false;
  steps.fetch_add(1);
  bool worked = false;
  try {
    worked = engine->step();
  } catch (const std::exception &thrown) {
    broke(stepThrew(thrown.what()));
  }
  steps.fetch_add(1);
  stepped.store(true);
  return worked;
}

/// Ends every job under way.
void Service::broke(Error why) {
  std::lock_guard hold(turn);
  if (abandoned)
    return;
  broken = true;
  fail(std::move(why));
}

/// Adds a job that never reached the engine to the jobs that fail() ends.
void Service::adopt(std::shared_ptr<Job> job, int32_t choices) {
  job->ids.assign(size_t(choices), 0);
  job->open = choices;
  if (std::ranges::find(jobs, job) == jobs.end())
    jobs.push_back(std::move(job));
}

/// Ends every job with an error. The caller holds `turn`.
void Service::fail(Error why) {
  std::vector<Command> unread;
  {
    std::lock_guard lock(mutex);
    failed = std::make_shared<Error>(std::move(why)); // no request is accepted from now on
    unread.swap(commands);
    views.clear();
    published.running = published.waiting = 0;
  }
  measured.update([](Measurements &m) { m.running = m.waiting = 0; });
  for (Command &command : unread)
    adopt(std::move(command.job), command.request.choices());
  for (const auto &job : jobs)
    for (size_t i = 0; i < job->ids.size(); ++i)
      if (job->ids[i] >= 0) {
        Output output;
        output.reason = runtime::FinishReason::Cancelled;
        output.error = *failed;
        end(job, i, std::move(output));
      }
  jobs.clear();
}

void Service::watch() {
  using Clock = std::chrono::steady_clock;
  const auto look = std::chrono::duration<double>(std::min(1.0, stepLimit / 8));
  uint64_t seen = 0;
  double age = 0;
  auto last = Clock::now();
  std::unique_lock lock(mutex);
  while (!overNow.wait_for(lock, look, [&] { return over; })) {
    const auto now = Clock::now();
    const double passed = std::min(std::chrono::duration<double>(now - last).count(),
                                   2 * look.count()); // this thread or the machine was stopped
    last = now;
    const uint64_t number = steps.load();
    age = number == seen ? age + passed : 0;
    seen = number;
    if (number % 2 == 0 || age < (stepped.load() ? stepLimit : firstStepLimit))
      continue;
    lock.unlock();
    if (giveUp(number, age))
      return;
    lock.lock();
  }
}

/// Ends every job because a step does not end. Returns false if the step has just ended.
bool Service::giveUp(uint64_t step, double seconds) {
  std::lock_guard hold(turn);
  if (steps.load() != step)
    return false;
  abandoned = true;
  deliveries.clear(); // drops the outputs of the hung step
  fail(stepHangs(seconds, engine->longestStep()));
  deliver();
  {
    std::lock_guard lock(mutex);
    lost = true;
  }
  leftNow.notify_all();
  return true;
}

} // namespace ingot::service
