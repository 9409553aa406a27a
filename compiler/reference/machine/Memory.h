//===- Memory.h - The arenas of a program, under observation ---------------===//
//
//   unit of an arena     who wrote it last, as which buffer      who read it last
//   [ 64 or 4 bytes ]    launch, work item, buffer               launch, work item
//
// Rows lie where packing put them. Every access is held against what was there before:
//
//   read    the bytes were written as that buffer, in this step (else E0882), and not by a launch or a
//           work item that may still be running (E0881)
//   write   nobody who may still be running reads or wrote them (E0881)
//
// Launches run at the same time as those before them up to the last barrier, and the work items of one
// launch at the same time as each other. What nobody wrote is a NaN. Workspaces, and rows that outlive a
// step, are zero before the first.
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/plan/PlanDialect.h"
#include "runtime/error/Error.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::plan {
class ProgramOp;
}

namespace ingot::reference::machine {

/// Which work items of a launch touch some bytes: one of them, or each a piece of `unitBytes` in turn, the first of
/// them by `first`; all of them if it is kEvery.
struct Items {
  static constexpr int64_t kEvery = -1;
  int64_t first = 0;
  int64_t pieceBytes = 0; ///< 0: one item, or every one, touches all of the bytes

  static Items one(int64_t item) { return {item, 0}; }
  static Items every() { return {kEvery, 0}; }
};

/// Who touched a place last.
struct Touch {
  uint32_t launch = 0; ///< its number in order of time, from 1 on; 0: nobody
  int32_t item = 0;
};

/// What is known of bytes that are always touched together.
struct Unit {
  Touch write, read;
  int32_t buffer = -1; ///< as what it was written
};

/// Launches in order of time, and which of them barriers part.
class Timeline {
public:
  /// The launches that follow are this one's.
  void begin(std::string launch);
  void barrier() { ++phase; }
  /// The access of the launch under way; who may be running at the same time, if that is somebody it may not be.
  std::optional<Touch> note(Unit &unit, bool writes, int64_t item) const;
  const std::string &nameOf(Touch touch) const { return launches[touch.launch].name; }
  const std::string &current() const { return launches.back().name; }
  uint32_t now() const { return static_cast<uint32_t>(launches.size() - 1); }

private:
  bool meets(const Touch &before, int64_t item) const;

  struct Launch {
    std::string name;
    int64_t phase;
  };
  std::vector<Launch> launches{{"the host", -1}};
  int64_t phase = 0;
};

/// The first thing that was wrong; the rest follows from it.
class Findings {
public:
  void add(std::string code, std::string what, std::string why);
  const std::optional<Error> &first() const { return found; }

private:
  std::optional<Error> found;
};

class Memory {
public:
  struct Buffer {
    std::string name;
    plan::BufferClass kind;
    int64_t address; ///< in the arena of its class
    int64_t bytes;   ///< of all its units
    bool persistent;
  };

  /// Room for so many tokens and logits rows. Buffers without offsets lie one behind the other.
  Memory(plan::ProgramOp program, int64_t tokens, int64_t rows, Timeline &timeline,
         Findings &findings);

  /// The number of the buffer; every operand that plan.launch verified is one.
  int64_t find(llvm::StringRef name) const { return byName.at(name.str()); }
  const Buffer &buffer(int64_t index) const { return buffers[size_t(index)]; }

  /// Forgets what does not outlive a step.
  void beginStep();
  /// What lies at `at` of a buffer, noted as read or written by the launch under way.
  std::byte *read(int64_t buffer, int64_t at, int64_t bytes, Items items);
  std::byte *write(int64_t buffer, int64_t at, int64_t bytes, Items items);
  /// The bytes, seen by nobody.
  std::byte *peek(int64_t buffer, int64_t at);
  /// Zeros, as the host writes them between steps.
  void clear(int64_t buffer);

private:
  struct Arena {
    int64_t unit; ///< bytes
    std::vector<std::byte> bytes;
    std::vector<Unit> units;
  };
  Arena &arenaOf(const Buffer &buffer) { return arenas[size_t(buffer.kind)]; }
  std::byte *touch(int64_t buffer, int64_t at, int64_t bytes, Items items, bool writes);
  void reportStale(const Buffer &buffer, const Unit &unit, int64_t at);

  std::vector<Buffer> buffers;
  std::map<std::string, int64_t> byName;
  Arena arenas[3];
  Timeline &timeline;
  Findings &findings;
};

} // namespace ingot::reference::machine
