//===- Trace.cpp - Sums per kernel and the Chrome trace writer ------------===//
#include "runtime/device/Trace.h"
#include "runtime/abi/Routes.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ingot::runtime {

uint64_t nowNanoseconds() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

Trace::Trace(std::vector<std::string> kernelNames, std::vector<LaunchInfo> launchList,
             int threadCount, bool keep)
    : names(std::move(kernelNames)), launches(std::move(launchList)), threads(threadCount),
      keepEvents(keep), stamps(launches.size() * size_t(threads)), times(names.size()) {}

void Trace::watchRoutes(size_t launch, const std::byte *routes, uint32_t experts, uint32_t used) {
  assert(launch < launches.size() && (watched.empty() || watched.back().launch < launch) &&
         "launches are watched in increasing order");
  const int32_t layer = launches[launch].layer;
  // Specialisations of a section share the load of their layer, so it may exist already.
  auto found = std::ranges::find(loads, layer, &ExpertLoad::layer);
  watched.push_back({launch, routes, used, size_t(found - loads.begin())});
  if (found == loads.end())
    loads.push_back({layer, std::vector<uint64_t>(experts)});
}

size_t Trace::watchedAt(size_t launch) const {
  auto found = std::ranges::lower_bound(watched, launch, {}, &Watched::launch);
  return found != watched.end() && found->launch == launch ? size_t(found - watched.begin())
                                                           : watched.size();
}

void Trace::countRoutes(size_t launch, int64_t tokens) {
  if (size_t at = watchedAt(launch); at < watched.size())
    countSegments(launch, watched[at].routes + RoutesLayout{tokens * watched[at].used}.count());
}

void Trace::countSegments(size_t launch, const std::byte *fromCount) {
  assert(watchedAt(launch) < watched.size() && "the launch is not watched");
  std::vector<uint64_t> &counts = loads[watched[watchedAt(launch)].load].tokens;
  const std::byte *first = fromCount + RoutesLayout{0}.segments();
  int32_t written;
  std::memcpy(&written, fromCount, sizeof written);
  // A faulty device may have written any number. Each expert has one segment at most.
  const auto segments = std::min<int64_t>(written, int64_t(counts.size()));
  for (int64_t i = 0; i < segments; ++i) {
    RouteSegment one;
    std::memcpy(&one, first + i * int64_t(sizeof one), sizeof one);
    if (size_t(one.expert) < counts.size())
      counts[size_t(one.expert)] += uint64_t(one.end - one.first);
  }
}

void Trace::collect(int64_t tokens) {
  uint32_t step = uint32_t(stepTokens.size());
  if (keepEvents)
    stepTokens.push_back(tokens);
  for (size_t launch = 0; launch < launches.size(); ++launch) {
    KernelTime &time = times[launches[launch].kernel];
    bool ran = false;
    for (int thread = 0; thread < threads; ++thread) {
      Stamp &stamp = stampsOf(thread)[launch];
      if (stamp.end == stamp.begin)
        continue;
      ran = true;
      time.seconds += double(stamp.end - stamp.begin) * 1e-9;
      if (keepEvents && events.size() < kMostEvents)
        events.push_back(
            {stamp.begin, uint32_t(stamp.end - stamp.begin), uint32_t(launch), thread, step});
      else if (keepEvents)
        ++dropped;
      stamp = {};
    }
    time.launches += ran;
  }
}

Result<void> Trace::writeChromeTrace(const std::string &path) const {
  auto failure = [&] {
    return Error{ExitCode::Device, "E0703", "cannot write the trace",
                 path + ": " + std::strerror(errno), "give another file: --trace F"};
  };
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (!file)
    return failure();
  // Kernel names are identifiers (they are also symbols), so nothing needs escaping.
  std::fprintf(file.get(),
               "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":%llu},"
               "\"traceEvents\":[\n",
               static_cast<unsigned long long>(dropped));
  for (int thread = 0; thread < threads; ++thread)
    std::fprintf(file.get(),
                 "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
                 "\"args\":{\"name\":\"thread %d\"}},\n",
                 thread, thread);
  uint64_t origin = events.empty() ? 0 : events.front().begin;
  for (const Event &event : events) {
    const LaunchInfo &launch = launches[event.launch];
    std::fprintf(file.get(),
                 "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                 "\"args\":{\"layer\":%d,\"step\":%u,\"tokens\":%lld}},\n",
                 names[launch.kernel].c_str(), event.thread,
                 double(int64_t(event.begin - origin)) * 1e-3, double(event.duration) * 1e-3,
                 launch.layer, event.step, static_cast<long long>(stepTokens[event.step]));
  }
  std::fprintf(file.get(), "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
                           "\"args\":{\"name\":\"ingot\"}}\n]}\n");
  if (std::fflush(file.get()) != 0 || std::ferror(file.get()))
    return failure();
  return {};
}

} // namespace ingot::runtime
