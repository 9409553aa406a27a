//===- PlaySchedules.cpp - An engine answers the same in any company --------===//
//
//   play-schedules ENGINE [cuda-emulator]
//
// Sessions with random limits, whose requests begin alike or not, come at random times, have several
// choices or search with beams, and are preempted to the host or to be computed again. Every answer
// must have the ids and the bits of log-probabilities that it has alone. Prints what happened.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Inspect.h"
#include "runtime/schema/engine_generated.h"
#include "runtime/service/Session.h"

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
  std::vector<Completion> alone; ///< one of each choice
};

bool same(const Completion &a, const Completion &b) {
  auto sameBits = [](const TokenLogprob &x, const TokenLogprob &y) {
    return x.id == y.id && std::bit_cast<uint32_t>(x.logprob) == std::bit_cast<uint32_t>(y.logprob);
  };
  return a.ids == b.ids && std::ranges::equal(a.logprobs, b.logprobs, [&](auto &x, auto &y) {
           return std::ranges::equal(x, y, sameBits);
         });
}

class Player {
public:
  Player(const char *path, bool emulated) : path(path), emulated(emulated) {}

  int play();

private:
  int below(int n) { return int(random() % unsigned(n)); }
  std::unique_ptr<Session> open(SessionOptions options) const;
  Asked ask(int number, int64_t vocab);
  bool playRound(const std::vector<Asked> &asked, uint64_t pageBytes);

  const char *path;
  const bool emulated;
  int64_t context =
      128; ///< on CPUs more, where the model has it: prefixes of more than eight pages
  std::mt19937 random{11};
  uint64_t preemptions = 0, swaps = 0, hits = 0, steps = 0;
};

std::unique_ptr<Session> Player::open(SessionOptions options) const {
  options.context = context;
  options.device = emulated ? "cuda-emulator" : "cpu";
  options.loadTokenizer = false;
  return orExit(Session::open(path, options));
}

/// Of one beginning, with a tail of its own. Two in three want log-probabilities; on GPUs the others'
/// ids are found there, with a step begun before those of the last are known.
Asked Player::ask(int number, int64_t vocab) {
  Asked asked{{}, 1, {}};
  const int alike = 1 + below(int(context) * (emulated ? 1 : 2) / 3), own = below(2) * below(20);
  for (int i = 0; i < alike + own; ++i)
    asked.request.promptIds.push_back(
        int32_t((i * 7 + (i < alike ? 0 : number * 5 + i * i)) % vocab));
  asked.request.maxTokens = 1 + below(emulated ? 6 : 24);
  asked.request.ignoreEos = true;
  asked.request.priority = below(2);
  asked.request.sampling.topLogprobs = number % 3 ? 3 : -1;
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

bool Player::playRound(const std::vector<Asked> &asked, uint64_t pageBytes) {
  SessionOptions options;
  options.maxSeqs = 3 + below(4);
  options.maxBatchTokens = std::max<int64_t>(options.maxSeqs, 4 + below(60));
  const int pages = int(context) / 32; // of a sequence at most
  options.kvMemoryBytes = uint64_t(pages + 3 + below(2 * pages)) * pageBytes;
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
  return equal && stats.pagesUsed == 0;
}

int Player::play() {
  if (!emulated)
    context = std::min<int64_t>(512, open({})->engine().table().model()->context());
  auto alone = open({.maxSeqs = 3, .prefixCache = false});
  const MemoryStatement &memory = alone->memory();
  const uint64_t pageBytes = memory.kv / memory.pages;
  std::vector<Asked> asked;
  for (int i = 0; i < (emulated ? 6 : 16); ++i) {
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
  for (int round = 0; round < (emulated ? 2 : 10); ++round)
    equal &= playRound(asked, pageBytes);
  std::printf("%s\n", equal ? "the same bits" : "OTHER BITS");
  std::printf("%llu slots alone, %llu steps, %s, %s, %s\n", (unsigned long long)memory.slots,
              (unsigned long long)steps, preemptions ? "preempted" : "nobody preempted",
              swaps ? "swapped" : "nothing swapped", hits ? "prefixes found" : "no prefix found");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  return Player(argv[1], argc > 2).play();
}
