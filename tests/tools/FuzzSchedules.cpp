//===- FuzzSchedules.cpp - An engine's answers are batch-invariant --------===//
//
//   fuzz-schedules ENGINE [cuda-emulator]
//
// Sessions have random limits. Their requests may share a prefix, come at random times, have several choices
// or search with beams, and are preempted, by swapping to the host or by recomputing. Every answer
// must have the same ids and bits of log-probabilities as when its request runs by itself. Prints a
// summary. Contexts are short, except for engines with attention windows, whose pages come in
// groups only if a window and a step are shorter than the context.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "runtime/schema/engine_generated.h"
#include "runtime/session/Session.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace ingot;
using namespace ingot::runtime;

namespace {

template <typename T> T orExit(Result<T> result) {
  if (result)
    return std::move(*result);
  std::fputs(result.error().format().c_str(), stderr);
  std::exit(1);
}

struct Asked {
  Request request;
  int32_t choices;
  std::vector<Completion> alone; ///< one per choice
};

bool same(const Completion &a, const Completion &b) {
  auto sameBits = [](const TokenLogprob &x, const TokenLogprob &y) {
    return x.id == y.id && std::bit_cast<uint32_t>(x.logprob) == std::bit_cast<uint32_t>(y.logprob);
  };
  return a.ids == b.ids && std::ranges::equal(a.logprobs, b.logprobs, [&](auto &x, auto &y) {
           return std::ranges::equal(x, y, sameBits);
         });
}

class Driver {
public:
  Driver(const char *path, bool emulated) : path(path), emulated(emulated) {}

  int run();

private:
  int below(int n) { return int(random() % unsigned(n)); }
  std::unique_ptr<Session> open(SessionOptions options) const;
  Asked ask(int number, int64_t vocab);
  bool runRound(const std::vector<Asked> &asked, uint64_t pageBytes);
  uint64_t memoryFor(const SessionOptions &options, uint64_t pageBytes);

  const char *path;
  const bool emulated;
  int64_t context = 128;
  bool windows = false; ///< the engine has attention windows
  std::mt19937 random{11};
  uint64_t preemptions = 0, swaps = 0, hits = 0, steps = 0;
  size_t groups = 1; ///< largest number of page groups
};

std::unique_ptr<Session> Driver::open(SessionOptions options) const {
  options.context = context;
  options.device = emulated ? "cuda-emulator" : "cpu";
  options.loadTokenizer = false;
  return orExit(Session::open(path, options));
}

/// Returns a request with its own tail, after the common prefix or, in one of five cases, after its
/// own prefix. Two in three (on GPUs, one in two) ask for log-probabilities; on GPUs the ids of the
/// others are found on the device, and a step begins before the ids of the previous one are known.
Asked Driver::ask(int number, int64_t vocab) {
  Asked asked{{}, 1, {}};
  const int alike = 1 + below(int(context) * 2 / 3), own = below(2) * below(20);
  for (int i = 0; i < alike + own; ++i)
    asked.request.promptIds.push_back(
        int32_t((i * 7 + (i < alike && number % 5 ? 0 : number * 5 + i * i)) % vocab));
  asked.request.maxTokens = 1 + below(!emulated ? 24 : windows ? 16 : 8);
  asked.request.ignoreEos = true;
  asked.request.priority = below(2);
  asked.request.sampling.topLogprobs = number % (emulated ? 2 : 3) ? 3 : -1;
  if (number % 4 == 1) {
    asked.request.sampling.temperature = 0.9F;
    asked.request.sampling.seed = uint64_t(number);
    asked.choices = 2;
  } else if (number % 8 == 2) {
    asked.request.sampling.topLogprobs = 0;
    asked.request.beams = BeamParams{.width = 3};
  }
  return asked;
}

/// Returns a small amount of memory, but enough for any request: a search with three beams in a
/// window group needs three windows.
uint64_t Driver::memoryFor(const SessionOptions &options, uint64_t pageBytes) {
  if (windows) {
    SessionOptions three = options;
    three.maxSeqs = 3;
    return open(three)->memory().kv;
  }
  const int pages = int(context) / 32; // largest number of pages per sequence
  return uint64_t(pages + 1 + below(2 * pages)) * pageBytes;
}

bool Driver::runRound(const std::vector<Asked> &asked, uint64_t pageBytes) {
  SessionOptions options;
  options.maxSeqs = 3 + below(4);
  options.maxBatchTokens = std::max<int64_t>(options.maxSeqs, 4 + below(60));
  options.kvMemoryBytes = memoryFor(options, pageBytes);
  options.swapBytes = uint64_t(below(2)) * (uint64_t(1) << 24);
  options.threads = 1 + below(2);
  auto session = open(options);
  std::vector<std::vector<RequestId>> ids;
  for (const Asked &one : asked) {
    ids.push_back(orExit(session->submit(one.request, one.choices)));
    for (int i = below(6); i > 0; --i)
      session->step();
  }
  session->runUntilDone();
  bool equal = true;
  for (size_t i = 0; i < asked.size(); ++i)
    for (size_t choice = 0; choice < ids[i].size(); ++choice)
      equal &= same(session->take(ids[i][choice]), asked[i].alone[choice]);
  const ScheduleStats stats = session->stats();
  preemptions += stats.preemptions, swaps += stats.swaps, hits += stats.prefixHits;
  steps += stats.steps;
  groups = std::max(groups, session->memory().groups.size());
  return equal && stats.pagesUsed == 0;
}

int Driver::run() {
  {
    auto session = open({});
    windows = std::ranges::any_of(*session->program().states(),
                                  [](const fb::State *state) { return state->window() > 0; });
    // On CPUs, prefixes span more than eight pages if the model's context allows it.
    context = std::min<int64_t>(!emulated ? 512
                                : windows ? 384
                                          : 128,
                                session->engine().table().model()->context());
  }
  auto alone = open({.maxSeqs = 3, .prefixCache = false});
  const MemoryPlan &memory = alone->memory();
  const uint64_t pageBytes = memory.kv / memory.pages;
  std::vector<Asked> asked;
  for (int i = 0; i < (emulated ? 8 : 16); ++i) {
    asked.push_back(ask(i, alone->engine().table().model()->vocab()));
    for (int32_t choice = 0; choice < asked.back().choices; ++choice) {
      Request single = asked.back().request;
      single.sampling.choice = uint32_t(choice);
      const RequestId id = orExit(alone->submit(single));
      alone->runUntilDone();
      asked.back().alone.push_back(alone->take(id));
    }
  }
  bool equal = true;
  for (int round = 0; round < (!emulated ? 10 : windows ? 3 : 2); ++round)
    equal &= runRound(asked, pageBytes);
  std::printf("%s\n", equal ? "the same bits" : "OTHER BITS");
  std::printf("groups of pages: %zu, %llu slots alone, %llu steps, %s, %s, %s\n", groups,
              (unsigned long long)memory.slots, (unsigned long long)steps,
              preemptions ? "preempted" : "nobody preempted", swaps ? "swapped" : "nothing swapped",
              hits ? "prefixes found" : "no prefix found");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  return Driver(argv[1], argc > 2).run();
}
