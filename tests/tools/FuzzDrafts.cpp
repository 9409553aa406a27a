//===- FuzzDrafts.cpp - Drafts do not change an engine's answers ----------===//
//
//   fuzz-drafts ENGINE [cuda-emulator]
//
// Generates greedy answers of several prompts at once through an executor: without drafts, with
// drafts of an oracle that is always right, always wrong or sometimes right, and with those of a
// plain prompt lookup. Every row of an answer's logits must be bit-identical, and no page may be in
// use that is not in use without drafts. Prints the steps and ids of each run.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/CpuExecutor.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/EmulatorDriver.h"
#include "runtime/schedule/Scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <random>

using namespace ingot;
using namespace ingot::runtime;

namespace {

constexpr int64_t kContext = 256, kSlots = 3, kTokens = 48, kRows = 24;
/// Number of new ids per answer.
int64_t newIds = 60;

struct Answer {
  std::vector<int32_t> tokens;
  int64_t prompt;
  std::vector<std::vector<float>> logits; ///< one row per new id
};
using Answers = std::vector<Answer>;
/// Returns a draft for the given answer: tokens that may follow the given ones.
using Drafter = std::function<std::vector<int32_t>(size_t, const std::vector<int32_t> &)>;

/// Returns the tokens that followed an earlier occurrence of the last two tokens.
std::vector<int32_t> lookUp(size_t, const std::vector<int32_t> &tokens) {
  for (size_t i = tokens.size() - 2; i-- > 1;)
    if (tokens[i - 1] == tokens[tokens.size() - 2] && tokens[i] == tokens.back())
      return {tokens.begin() + long(i) + 1, tokens.begin() + long(std::min(i + 6, tokens.size()))};
  return {};
}

class Driver {
public:
  Driver(Executor &executor, Drafter drafter)
      : executor(executor), drafter(std::move(drafter)),
        memory({{{executor.pages(), 0}},
                kSlots,
                kContext,
                kPageTokens,
                kTokens,
                {int64_t(executor.memory().slots), int64_t(kSnapshotPages)}},
               executor.pageMover()),
        scheduler(memory, {kTokens, kRows, kTokens}) {}

  Answers run(const std::vector<std::vector<int32_t>> &prompts);
  int64_t steps = 0;

private:
  void takeRows();

  Executor &executor;
  Drafter drafter;
  SequenceMemory memory;
  Scheduler scheduler;
  std::map<SequenceId, size_t> numberOf;
  std::map<SequenceId, std::vector<int32_t>> drafts;
  Answers answers;
};

void Driver::takeRows() {
  const auto rows = scheduler.rows();
  for (size_t i = 0; i < rows.size();) {
    const SequenceId id = rows[i].sequence;
    Answer &own = answers[numberOf.at(id)];
    std::vector<int32_t> proposed = std::exchange(drafts[id], {});
    const size_t first = i;
    bool goesOn = true;
    int64_t accepted = 0;
    for (; i < rows.size() && rows[i].sequence == id; ++i) {
      if (!goesOn || int64_t(i - first) > accepted)
        continue; // after a wrong draft
      const float *row = executor.logits() + int64_t(i) * executor.logitsStride();
      const auto vocab = long(executor.model().vocab());
      own.logits.emplace_back(row, row + vocab);
      own.tokens.push_back(int32_t(std::max_element(row, row + vocab) - row));
      goesOn = int64_t(own.tokens.size()) - own.prompt < newIds;
      const bool hasNext = i + 1 < rows.size() && rows[i + 1].sequence == id;
      accepted += hasNext && proposed[size_t(accepted)] == own.tokens.back();
    }
    scheduler.commit(id, accepted);
    if (goesOn)
      scheduler.append(id, own.tokens.back());
    else
      scheduler.finish(id);
  }
}

Answers Driver::run(const std::vector<std::vector<int32_t>> &prompts) {
  for (const std::vector<int32_t> &prompt : prompts) {
    numberOf[scheduler.add(prompt, newIds)] = answers.size();
    answers.push_back({prompt, int64_t(prompt.size()), {}});
  }
  while (true) {
    for (const auto &[id, number] : numberOf)
      if (const Answer &own = answers[number];
          !own.logits.empty() && int64_t(own.logits.size()) < newIds) {
        drafts[id] = drafter(number, own.tokens);
        scheduler.propose(id, drafts[id]);
      }
    const BatchView *batch = scheduler.plan();
    if (!batch)
      return answers;
    if (auto ran = executor.step(*batch); !ran) {
      std::fputs(ran.error().format().c_str(), stderr);
      std::exit(1);
    }
    scheduler.complete();
    ++steps;
    takeRows();
  }
}

bool same(const Answers &a, const Answers &b) {
  return std::ranges::equal(a, b, [](const Answer &x, const Answer &y) {
    return x.tokens == y.tokens &&
           std::ranges::equal(x.logits, y.logits, [](const auto &p, const auto &q) {
             return std::memcmp(p.data(), q.data(), p.size() * sizeof(float)) == 0;
           });
  });
}

template <typename T> T orExit(Result<T> result) {
  if (result)
    return std::move(*result);
  std::fputs(result.error().format().c_str(), stderr);
  std::exit(1);
}

std::unique_ptr<Executor> open(const char *path, bool emulated) {
  std::shared_ptr<EngineFile> file = orExit(EngineFile::open(path));
  const MemoryLimits limits = {
      .context = kContext, .maxSeqs = kSlots, .maxBatchTokens = kTokens, .logitsRows = kRows};
  if (!emulated)
    return orExit(cpu::CpuExecutor::create(file, limits));
  return orExit(cuda::CudaExecutor::create(orExit(cuda::openEmulator()), file, limits,
                                           {.emulated = true, .gpu = {}}));
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  const std::unique_ptr<Executor> executor = open(argv[1], argc > 2);
  std::vector<std::vector<int32_t>> prompts;
  const auto vocab = int64_t(executor->model().vocab());
  std::vector<int64_t> lengths{5, 31, 70, 70, 33}; // two of them share a prefix
  if (argc > 2) {                                  // the emulator is slow
    lengths = {5, 31, 33};
    newIds = 8;
  }
  for (int64_t length : lengths) {
    prompts.emplace_back();
    for (int64_t i = 0; i < length; ++i)
      prompts.back().push_back(int32_t((i * 7 + (length == 70 ? 0 : length)) % vocab));
  }
  Driver plain(*executor, [](size_t, const auto &) { return std::vector<int32_t>(); });
  const Answers alone = plain.run(prompts);
  std::printf("none %lld steps\n", (long long)plain.steps);

  std::mt19937 random(1);
  auto oracle = [&](int right) -> Drafter {
    return [&, right](size_t number, const std::vector<int32_t> &tokens) {
      std::vector<int32_t> line(alone[number].tokens.begin() + long(tokens.size()),
                                alone[number].tokens.end());
      line.resize(std::min<size_t>(line.size(), random() % 6));
      for (int32_t &id : line)
        id = int32_t((id + (int(random() % 100) >= right)) % vocab);
      return line;
    };
  };
  const std::pair<const char *, Drafter> ways[] = {
      {"right", oracle(100)}, {"wrong", oracle(0)}, {"mixed", oracle(70)}, {"lookup", lookUp}};
  for (const auto &[name, drafter] : ways) {
    Driver driver(*executor, drafter);
    const bool equal = same(driver.run(prompts), alone);
    std::printf("%s %lld steps, %s\n", name, (long long)driver.steps,
                equal ? "the same bits" : "OTHER BITS");
  }
  return 0;
}
