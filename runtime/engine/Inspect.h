//===- Inspect.h - What is in an engine, and what memory it will take -----===//
//
// Memory is known before anything runs. The compiler fixed what a token, a
// logits row and a KV page cost; the limits given at load time do the rest:
//
//   arena   = bytes_fixed + bytes_per_token * max-batch-tokens + bytes_per_row * logits rows
//   KV      = bytes_per_page * pages,   pages = max-seqs * ceil(context / page_tokens)
//                                       or as many as fit --kv-memory
//             the same for each group of layers with a window of its own, whose pages are those
//             of a window and a step (KvGroup.h); --kv-memory is split in that proportion
//   state   = bytes_per_slot * slots, of engines with fixed states (slotsFor)
//   scratch = largest kernel scratch * threads
//   batch   = ids, positions, block tables and attention tiles of one step
//   swap    = host memory for KV pages of requests that were preempted, if wanted
//   seeded  = weights that the device makes from the seed at load
//   mapped  = the engine file: weights and code, shared with the page cache
//   locked  = of a CPU, what --lock keeps in memory: weights and all of the above but batch and swap
//
// On a GPU weights are copied to the device, and arena, KV and batch lie there:
//
//   uploaded = the segments that hold the program's weights
//   staging  = page-locked host memory: two batches, ids and logits, pieces of weights on their way
//   reserved = left to the code, graphs and heaps that the driver makes room for as they come
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Program.h"

#include <optional>
#include <string>

namespace ingot::runtime {

/// The most positions of a sequence when nobody says how many: more costs memory that most runs
/// do not use.
constexpr uint64_t kDefaultContext = 4096;

/// The most tokens of a step when nobody says how many. A GPU is full with 2,048: a projection of
/// 4,096 rows has 256 blocks then.
constexpr uint64_t kDefaultBatchTokens = 512, kDefaultGpuBatchTokens = 2048;

/// Of the provenance: what the engine's text was made of, in a line.
constexpr char kTextTaken[] = "text";
/// "" for an engine of before that was kept.
std::string textTaken(const fb::Engine &engine);

/// Limits chosen at load time.
struct MemoryLimits {
  uint64_t context = 0;        ///< positions per sequence; 0: the model's, at most the default
  uint64_t maxSeqs = 1;        ///< sequences at once
  uint64_t maxBatchTokens = 0; ///< rows of one step; 0: the default of the program's device
  uint64_t logitsRows = 0;     ///< rows of logits of one step; 0: maxSeqs
  uint64_t threads = 1;
  std::optional<uint64_t> kvBytes = std::nullopt; ///< --kv-memory: a pool of this size instead
  uint64_t swapBytes = 0; ///< of host memory, for the KV pages of what was preempted
  uint64_t reserved = 0;  ///< of a GPU's memory, left to its driver
  bool lock = false;      ///< a CPU's weights and memory never leave it
};

/// Where a buffer begins in the arena of its class, in bytes: the arena holds `limit` units.
uint64_t placeInArena(const fb::Buffer &buffer, const MemoryLimits &limits);

/// States whose pages come together: those of one attention window, where that saves pages at these
/// limits. The first group is the one that keeps most positions.
struct KvPages {
  uint64_t window = 0; ///< 0: all positions
  uint64_t pages = 0;  ///< in the pool of each of its states
  uint64_t pageBytes = 0;
};

/// Of fixed states, every so many pages of a prompt a version is left to the prefix cache.
constexpr uint64_t kSnapshotPages = 8;
/// Slots for versions of fixed states: one for each of `sequences` and one to write while all are held; beside
/// them, for drafts and the prefix cache, one for each kSnapshotPages of the `pages` that it can keep, but of a
/// quarter of the pages' `kvBytes` at most.
uint64_t slotsFor(uint64_t sequences, uint64_t pages, uint64_t kvBytes, uint64_t slotBytes);

/// What a process has besides, about: code, libraries, the tables of its allocator.
constexpr uint64_t kProgramBytes = uint64_t(10) << 20;

/// All in bytes but `pages` and `pageTokens`.
struct MemoryStatement {
  DeviceKind kind = DeviceKind::Cpu;
  MemoryLimits limits;              ///< with what was 0 filled in
  uint64_t mapped = 0, weights = 0; ///< weights: those in the file,
  uint64_t read = 0;                ///< and the segments of them that the program reads
  uint64_t seeded = 0;
  uint64_t arena = 0, kv = 0, scratch = 0, batch = 0;
  uint64_t uploaded = 0, staging = 0; ///< of a GPU
  uint64_t pages = 0, pageTokens = 0; ///< pages: of the first group
  std::vector<KvPages> groups;
  std::vector<uint32_t> groupOf; ///< of each state; of fixed ones groups.size(), as in PageMover
  uint64_t slots = 0, slotBytes = 0; ///< of fixed states, if there are any
  uint64_t states = 0;               ///< bytes of all slots

  /// The group whose block table a launch of the step reads: that of its paged states, which have one
  /// window; of a launch without any the first.
  uint32_t groupRead(const fb::Launch &launch, const fb::Step &step) const;

  /// What competes for the device's memory: all but the mapped file, and what a GPU has on the
  /// host.
  uint64_t taken() const {
    return uploaded + seeded + arena + kv + states + scratch + batch +
           (kind == DeviceKind::Cpu ? limits.swapBytes : 0);
  }
  /// What must be free on the device.
  uint64_t needed() const { return taken() + limits.reserved; }
  /// Anonymous memory, host and device.
  uint64_t allocated() const {
    return taken() + staging + (kind == DeviceKind::Cpu ? 0 : limits.swapBytes);
  }
  uint64_t total() const { return mapped + allocated(); }
  /// What gives way to nobody.
  uint64_t kept() const { return allocated() + (limits.lock ? read : 0); }
  /// What --lock keeps in memory, on a CPU.
  uint64_t lockable() const { return read + seeded + arena + kv + states + scratch; }

  /// A line per part with the arithmetic written out, and the sum.
  std::string text() const;
  std::string json() const;
};

/// Error, exit 3: E0386 if the sum does not fit 63 bits, or the KV memory holds no page.
/// `program` is one of the engine's.
Result<MemoryStatement> memoryStatement(const EngineFile &engine, const MemoryLimits &limits,
                                        const fb::Program &program);
/// Of the first program: the CPU's, if there is one.
Result<MemoryStatement> memoryStatement(const EngineFile &engine, const MemoryLimits &limits);

/// Host memory that weights go through on their way to a GPU: pieces, and bytes of one.
constexpr uint64_t kUploadPieces = 8, kUploadPiece = uint64_t(4) << 20;

/// "105.3 MiB"
std::string humanBytes(uint64_t bytes);
/// "1,234,567"
std::string grouped(uint64_t number);

/// `ingot inspect E`: model, targets, weights by format, program, memory, provenance, evidence.
std::string inspectText(const EngineFile &engine, const MemoryLimits &limits);
/// `ingot inspect E --json`: the same, complete, with stable keys.
std::string inspectJson(const EngineFile &engine, const MemoryLimits &limits);
/// `ingot inspect E --html F`: all of that as one self-contained page. `more`: JSON of what takes more than the engine to
/// know (tools/ingot/measure/PageFigures.h); may be empty.
std::string inspectHtml(const EngineFile &engine, const MemoryLimits &limits,
                        std::string_view more = {});
/// What its compiler left of kernels as text: JSON (compiler/driver/Listing.h), whatever the file holds; may be empty.
std::string engineListing(const EngineFile &engine);
/// `ingot inspect E --recipe`: the file for `ingot compile --recipe` that makes the same engine again. Empty: it is of
/// a compiler that kept none.
std::string recipeText(const EngineFile &engine);
/// `ingot inspect E --evidence`: the error of every pass against the interpreter.
std::string evidenceText(const EngineFile &engine);
/// With --json: {"evidence"}, and {"seed_weights"} where there are any, as in the whole table.
std::string evidenceJson(const EngineFile &engine);

} // namespace ingot::runtime
