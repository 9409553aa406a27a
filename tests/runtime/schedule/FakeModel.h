//===- FakeModel.h - A model that exposes every scheduling error -----------===//
//
// Keys and values are one number per position: a hash of all tokens up to it. They lie in pages, as
// on a device, and a step reads all positions that its tokens attend to through the block table. The
// first step that reads a page therefore detects whether the page was given away, copied from the
// wrong place, shared with another prefix or lost on its way to the host and back. The next token is
// a function of the hash, so the answer of a sequence on its own is known.
//
// Optionally it also has a fixed state: a recurrence that rounds, s = bf16(a s + token). It changes if
// a token is processed twice, skipped, or processed in another batch composition. A step reads all
// snapshots first and then writes in any order, as kernels may.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/Scheduler.h"

#include <array>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ingot::test {

/// Returns the hash after one more token.
uint64_t fold(uint64_t hash, int32_t token);
/// Returns the next token of the `choice`-th answer after these tokens, when run by itself.
int32_t nextToken(uint64_t hash, int32_t choice);
std::vector<int32_t> answerAlone(std::vector<int32_t> prompt, int64_t count, int32_t choice = 0);

struct FakeSetup {
  std::vector<runtime::KvGroup> groups{{64, 0}};
  int64_t rows = 4, context = 512;
  runtime::ScheduleLimits limits{512, 4, 512};
  runtime::SchedulePolicy policy;
  bool moves = true;      ///< there is a PageMover
  uint64_t swapPages = 0; ///< pages of host memory, of the first group
  runtime::FixedState fixed = {};
  int64_t drafts = 0;   ///< maximum number of drafts per answer and step
  int rightDrafts = 50; ///< percent of right drafts
  bool ahead = false;   ///< a step begins while the previous one is in flight; for plain answers
  int ends = 0;         ///< percent of ids that end their answer, with `ahead`
};

class FakeModel final : public runtime::PageMover {
public:
  explicit FakeModel(const FakeSetup &setup);

  /// Adds a request of `choices` answers of `maxNew` tokens. Returns the id of the first; the others have
  /// the following ids.
  runtime::SequenceId ask(std::vector<int32_t> prompt, int64_t maxNew,
                          runtime::SequenceOptions options = {}, int32_t choices = 1);
  /// Adds a search of `width` sequences that advance together until each has `count` tokens. After each
  /// step some sequences fork and others end (groupAlone). Returns the number of the search.
  size_t askGroup(std::vector<int32_t> prompt, int64_t count, int64_t width,
                  runtime::SequenceOptions options = {});
  void cancelGroup(size_t number);
  /// Cancels an answer.
  void cancel(runtime::SequenceId id);
  /// Runs one step. Returns false if there was nothing to do.
  bool step();
  void run(); ///< runs to the end and checks every answer

  /// Expects that nothing is held. Cached pages may remain.
  void expectNothingHeld();

  using State = std::array<float, 2>;
  uint64_t pageBytes(size_t group) const override {
    return group < setup.groups.size() ? kPageTokens * sizeof(uint64_t) : sizeof(State);
  }
  void copy(size_t group, int32_t from, int32_t to) override;
  void save(size_t group, int32_t page, std::byte *to) override;
  void load(size_t group, const std::byte *from, int32_t page) override;

  struct Answer {
    std::vector<int32_t> tokens; ///< the prompt, then the ids
    int64_t prompt, maxNew;
    int32_t choice;
    std::vector<runtime::SequenceId> forks; ///< sequences that start from its first row
    bool everyPosition = false;
    int64_t rows = 0;
    bool done = false;
    int64_t group = -1;                 ///< index into `groups`
    bool promptSeen = false;            ///< the prompt's last row has been returned
    std::vector<int32_t> proposed = {}; ///< drafts after `tokens`
    int32_t unknown = 0;                ///< placeholder of the last token; 0: it is known
  };
  struct Group {
    std::vector<int32_t> prompt;
    int64_t count, width;
    std::vector<runtime::SequenceId> live;
    size_t rows = 0; ///< rows taken in this round
    int64_t round = 0;
    bool done = false;
    std::vector<std::vector<int32_t>> found = {}; ///< results, once it has ended
  };
  FakeSetup setup;
  std::vector<std::byte> swapMemory;
  runtime::SequenceMemory sequenceMemory;
  const runtime::KvPool &pool; ///< the pool of its pages
  runtime::Scheduler scheduler;
  std::map<runtime::SequenceId, Answer> answers;
  std::vector<runtime::SequenceId> finished; ///< in order of their ends
  std::vector<Group> groups;
  int64_t steps = 0, mostTokens = 0, computed = 0;
  int64_t replaced = 0; ///< snapshots that were written over their predecessor

private:
  void check(const BatchView &batch);
  void checkStates(const BatchView &batch);
  bool begin();
  bool stepAhead();
  void propose();
  void takeDrafts(runtime::SequenceId id, int64_t drafts);
  void takeRow(const runtime::Scheduler::Row &row);
  void goOn(Group &group);
  /// Returns true if the answer continues.
  bool takeToken(runtime::SequenceId id, uint64_t hash);
  uint64_t *slots(size_t group, int32_t page) {
    return &memory[group][size_t(page) * size_t(kPageTokens)];
  }

  std::mt19937 random{7};
  std::vector<runtime::Scheduler::Row> underWay; ///< rows of the step in flight
  // The sequences in the last step.
  std::map<runtime::SequenceId, int32_t> slotOf;
  std::map<runtime::SequenceId, int64_t> firstOf; ///< position
  std::vector<State> states;                      ///< [slots]
  std::vector<std::vector<uint64_t>> memory;      ///< [group][pages * kPageTokens]
};

/// Returns the result of such a search when it runs by itself.
std::vector<std::vector<int32_t>> groupAlone(std::vector<int32_t> prompt, int64_t count,
                                             int64_t width);

/// Returns `length` ids that depend on `seed`.
std::vector<int32_t> promptOf(int64_t length, int32_t seed = 0);

} // namespace ingot::test
