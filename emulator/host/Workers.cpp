//===- Workers.cpp - Threads that run the clusters of a launch ----------------===//
#include "emulator/host/Workers.h"

#include <algorithm>

namespace ingot::emulator {
namespace {

constexpr u64 kFinished = ~u64(0);

u64 clusterCount(const Launch &launch) { return launch.grid.count() / launch.cluster.count(); }

/// Permutes the start order of blocks with a seed: i -> i * step + start, with step coprime to the count.
u64 shuffled(u64 i, u64 count, u32 seed) {
  if (!seed || count < 2)
    return i;
  u64 step = (seed * 2654435761ull >> 7) % count | 1;
  auto gcd = [](u64 a, u64 b) {
    while (b)
      std::swap(a %= b, b);
    return a;
  };
  while (gcd(step, count) != 1)
    step += 2;
  return u64((unsigned __int128)(i)*step % count + seed) % count;
}

} // namespace

Workers::Workers(int count) {
  for (int i = 0; i < std::max(count, 1); i++)
    workers.push_back(std::make_unique<Worker>());
  for (size_t i = 0; i < workers.size(); i++)
    workers[i]->thread = std::thread([this, i] { loop(*workers[i], u32(i)); });
}

Workers::~Workers() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  for (auto &worker : workers)
    worker->thread.join();
}

void Workers::run(LaunchState &launch) {
  std::unique_lock lock(mutex);
  current = &launch;
  nextCluster = 0;
  for (auto &worker : workers)
    worker->idleAt = kFinished - 1; // busy
  busy = workers.size();
  round++;
  changed.notify_all();
  changed.wait(lock, [&] { return busy == 0; });
  current = nullptr;
}

void Workers::loop(Worker &worker, u32 index) {
  u64 seen = 0;
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || round != seen; });
    if (ending)
      return;
    seen = round;
    LaunchState &launch = *current;
    lock.unlock();
    if (launch.spec->resident)
      runResident(worker, index, launch);
    else
      runInTurn(worker, launch);
    worker.idleAt = kFinished;
    lock.lock();
    if (--busy == 0)
      changed.notify_all();
  }
}

Cluster &Workers::clusterOf(Worker &worker, size_t index) {
  while (worker.clusters.size() <= index)
    worker.clusters.push_back(std::make_unique<Cluster>());
  return *worker.clusters[index];
}

void Workers::runInTurn(Worker &worker, LaunchState &launch) {
  Cluster &cluster = clusterOf(worker, 0);
  const u64 total = clusterCount(*launch.spec), chunk = total / (workers.size() * 16) + 1;
  for (u64 first; !launch.stop && (first = nextCluster.fetch_add(chunk)) < total;)
    for (u64 i = first; i < std::min(first + chunk, total) && !launch.stop; i++) {
      startCluster(cluster, launch, shuffled(i, total, launch.seed));
      runCluster(cluster);
      if (cluster.aborted)
        launch.stop = true;
    }
}

/// Keeps all clusters of this worker alive at once, and runs each in turn until it can only spin.
void Workers::runResident(Worker &worker, u32 index, LaunchState &launch) {
  std::vector<Cluster *> live;
  for (u64 i = index; i < clusterCount(*launch.spec); i += workers.size()) {
    live.push_back(&clusterOf(worker, live.size()));
    startCluster(*live.back(), launch, i);
  }
  for (bool first = true; !live.empty() && !launch.stop; first = false) {
    const u64 progress = launch.progress;
    bool moved = first;
    for (size_t i = 0; i < live.size() && !launch.stop;) {
      const u64 before = live[i]->spinsPassed;
      const Outcome outcome = runCluster(*live[i]);
      if (live[i]->aborted)
        launch.stop = true;
      moved |= outcome == Outcome::Ended || live[i]->spinsPassed != before;
      if (outcome == Outcome::Ended)
        live.erase(live.begin() + ptrdiff_t(i));
      else
        i++;
    }
    if (moved) {
      launch.progress++;
      continue;
    }
    worker.idleAt = progress;
    if (isDeadlock(progress) && launch.progress == progress && !launch.stop.exchange(true))
      for (Cluster *cluster : live)
        for (Fiber *fiber : cluster->spinning)
          report(*fiber, Rule::Deadlock, "spins on memory that no thread will change",
                 Where(fiber->waitsAt));
    std::this_thread::yield();
  }
  for (Cluster *cluster : live)
    abandon(*cluster);
}

/// True if no worker has made progress since `progress`, and all have checked since then.
bool Workers::isDeadlock(u64 progress) const {
  for (const auto &worker : workers)
    if (worker->idleAt != kFinished && worker->idleAt != progress)
      return false;
  return true;
}

} // namespace ingot::emulator
