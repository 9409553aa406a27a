//===- FakeModel.h - A model that sees every mistake of a scheduler --------===//
//
// Keys and values are a number per position: a hash of all tokens up to it. They lie in pages, as
// a device's do, and a step reads all that its tokens look at through the block table. So a page
// that was given away, copied from the wrong place, shared with another prefix or lost on its way
// to the host and back shows at the first step that looks at it. The next token is a function of
// the hash, so that what a sequence answers alone is known.
//
// If asked for, it has a fixed state besides: a recurrence that rounds, s = bf16(a s + token), which
// is another one as soon as a token is taken twice, left out, or taken in other company. A step
// reads all versions first and then writes in any order, as kernels may.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schedule/Scheduler.h"

#include <array>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ingot::test {

/// The hash after one more token.
uint64_t fold(uint64_t hash, int32_t token);
/// What the `choice`-th answer to these tokens goes on with, alone.
int32_t nextToken(uint64_t hash, int32_t choice);
std::vector<int32_t> answerAlone(std::vector<int32_t> prompt, int64_t count, int32_t choice = 0);

struct FakeSetup {
  std::vector<runtime::KvGroup> groups{{64, 0}};
  int64_t rows = 4, context = 512;
  runtime::ScheduleLimits limits{512, 4, 512};
  runtime::SchedulePolicy policy;
  bool moves = true;      ///< there is a PageMover
  uint64_t swapPages = 0; ///< of host memory, of the first group
  runtime::FixedState fixed = {};
  int64_t drafts = 0;   ///< most that are proposed of an answer in a step
  int rightDrafts = 50; ///< in a hundred
  bool ahead = false;   ///< a step begins while the one before is under way; for plain answers
  int ends = 0;         ///< of a hundred ids end their answer, where it runs ahead
};

class FakeModel final : public runtime::PageMover {
public:
  explicit FakeModel(const FakeSetup &setup);

  /// A request of `choices` answers of `maxNew` tokens; the first one's id. The others have the ids
  /// that follow.
  runtime::SequenceId ask(std::vector<int32_t> prompt, int64_t maxNew,
                          runtime::SequenceOptions options = {}, int32_t choices = 1);
  /// A search of `width` sequences that go on together: after each step some of them twice, others
  /// not (groupAlone), until each has `count` tokens. Returns its number.
  size_t askGroup(std::vector<int32_t> prompt, int64_t count, int64_t width,
                  runtime::SequenceOptions options = {});
  void cancelGroup(size_t number);
  /// Ends an answer before its time.
  void cancel(runtime::SequenceId id);
  /// One step; false if there was nothing to do.
  bool step();
  void run(); ///< to the end, checking every answer

  /// All is as at the start; kept pages are there.
  void expectNothingHeld();

  using State = std::array<float, 2>;
  uint64_t pageBytes(size_t group) const override {
    return group < setup.groups.size() ? kPageTokens * sizeof(uint64_t) : sizeof(State);
  }
  void copy(size_t group, int32_t from, int32_t to) override;
  void save(size_t group, int32_t page, std::byte *to) override;
  void load(size_t group, const std::byte *from, int32_t page) override;

  struct Answer {
    std::vector<int32_t> tokens; ///< prompt, then ids
    int64_t prompt, maxNew;
    int32_t choice;
    std::vector<runtime::SequenceId> forks; ///< that begin with its first row
    bool everyPosition = false;
    int64_t rows = 0;
    bool done = false;
    int64_t group = -1;                 ///< index into `groups`
    bool promptSeen = false;            ///< its last row is out
    std::vector<int32_t> proposed = {}; ///< behind `tokens`
    int32_t unknown = 0;                ///< what stands for the last token; 0: it is known
  };
  struct Group {
    std::vector<int32_t> prompt;
    int64_t count, width;
    std::vector<runtime::SequenceId> live;
    size_t rows = 0; ///< of them, in this round
    int64_t round = 0;
    bool done = false;
    std::vector<std::vector<int32_t>> found = {}; ///< at the end
  };
  FakeSetup setup;
  std::vector<std::byte> swapMemory;
  runtime::SequenceMemory sequenceMemory;
  const runtime::KvPool &pool; ///< its pages
  runtime::Scheduler scheduler;
  std::map<runtime::SequenceId, Answer> answers;
  std::vector<runtime::SequenceId> finished; ///< in order
  std::vector<Group> groups;
  int64_t steps = 0, mostTokens = 0, computed = 0;
  int64_t replaced = 0; ///< versions that were written over the one before

private:
  void check(const BatchView &batch);
  void checkStates(const BatchView &batch);
  bool begin();
  bool stepAhead();
  void propose();
  void takeDrafts(runtime::SequenceId id, int64_t drafts);
  void takeRow(const runtime::Scheduler::Row &row);
  void goOn(Group &group);
  /// True if it goes on.
  bool takeToken(runtime::SequenceId id, uint64_t hash);
  uint64_t *slots(size_t group, int32_t page) {
    return &memory[group][size_t(page) * size_t(kPageTokens)];
  }

  std::mt19937 random{7};
  std::vector<runtime::Scheduler::Row> underWay; ///< of a step that has begun
  // Of sequences in the last step.
  std::map<runtime::SequenceId, int32_t> seatOf;
  std::map<runtime::SequenceId, int64_t> firstOf; ///< position
  std::vector<State> states;                      ///< [slots]
  std::vector<std::vector<uint64_t>> memory;      ///< [group][pages * kPageTokens]
};

/// What such a search ends with, alone.
std::vector<std::vector<int32_t>> groupAlone(std::vector<int32_t> prompt, int64_t count,
                                             int64_t width);

/// `length` ids that depend on `seed`.
std::vector<int32_t> promptOf(int64_t length, int32_t seed = 0);

} // namespace ingot::test
