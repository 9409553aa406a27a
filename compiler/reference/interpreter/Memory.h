//===- Memory.h - The arenas of a program, under observation ---------------===//
//
//   unit of an arena     last write, and its buffer              last read
//   [ 64 or 4 bytes ]    launch, work item, buffer               launch, work item
//
// Rows are at the offsets that packing chose. Every access is checked against earlier accesses:
//
//   read    the bytes were written as part of that buffer, in this step (else E0882), and not by a launch or
//           work item that may still be running (E0881)
//   write   no launch or work item that may still be running reads or writes the bytes (E0881)
//
// A launch runs concurrently with those before it up to the last barrier, and the work items of one launch
// run concurrently with each other. Unwritten memory reads as NaN. Workspaces, and rows that outlive a step,
// are zero before the first step.
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

namespace ingot::reference::interpreter {

/// The work items of a launch that touch some bytes: one item, or consecutive items that touch `pieceBytes`
/// each, beginning with `first`; all items if `first` is kEvery.
struct Items {
  static constexpr int64_t kEvery = -1;
  int64_t first = 0;
  int64_t pieceBytes = 0; ///< 0: one item, or every item, touches all of the bytes

  static Items one(int64_t item) { return {item, 0}; }
  static Items every() { return {kEvery, 0}; }
};

/// The last access to a place.
struct Touch {
  uint32_t launch = 0; ///< index in order of time, from 1; 0: none
  int32_t item = 0;
};

/// State of bytes that are always accessed together.
struct Unit {
  Touch write, read;
  int32_t buffer = -1; ///< the buffer to which the bytes belonged when they were written
};

/// Launches in order of time, and the barriers between them.
class Timeline {
public:
  /// Starts a launch: the following accesses belong to it.
  void begin(std::string launch);
  void barrier() { ++phase; }
  /// Records an access of the current launch. If it conflicts with an earlier access that may run concurrently, returns
  /// that access.
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

/// Keeps the first error, because later errors are usually its consequences.
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
    int64_t address; ///< offset in the arena of its class
    int64_t bytes;   ///< size, for all tokens or rows
    bool persistent;
  };

  /// Allocates room for these counts of tokens and logits rows. Buffers without offsets are placed one after
  /// the other.
  Memory(plan::ProgramOp program, int64_t tokens, int64_t rows, Timeline &timeline,
         Findings &findings);

  /// Returns the index of the buffer. The verifier of plan.launch ensures that the buffer of every operand exists.
  int64_t find(llvm::StringRef name) const { return byName.at(name.str()); }
  const Buffer &buffer(int64_t index) const { return buffers[size_t(index)]; }

  /// Forgets contents that do not outlive a step.
  void beginStep();
  /// Returns the bytes at `at` of a buffer, and records that the current launch reads or writes them.
  std::byte *read(int64_t buffer, int64_t at, int64_t bytes, Items items);
  std::byte *write(int64_t buffer, int64_t at, int64_t bytes, Items items);
  /// Returns the bytes without recording an access.
  std::byte *peek(int64_t buffer, int64_t at);
  /// Writes zeros, as the host does between steps.
  void clear(int64_t buffer);

private:
  struct Arena {
    int64_t unit; ///< bytes that are observed together
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

} // namespace ingot::reference::interpreter
