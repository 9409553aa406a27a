//===- Inspect.h - Contents of an engine, and the memory that it needs ----===//
//
// The memory is known before anything runs. The engine has the bytes of a token, a logits row and a KV
// page; the limits given at load time determine the rest:
//
//   arena   = bytes_fixed + bytes_per_token * max-batch-tokens + bytes_per_row * logits rows
//   KV      = bytes_per_page * pages,   pages = max-seqs * ceil(context / page_tokens)
//                                       or as many as fit into --kv-memory
//             This holds for each group of layers with the same window. If the window is shorter than
//             the context, a sequence needs pages only for a window and a step (KvGroup.h). --kv-memory
//             is divided among the groups in proportion to the pages that one sequence has in each
//   state   = bytes_per_slot * slots, for engines with fixed states (slotsFor)
//   scratch = largest kernel scratch * threads
//   batch   = ids, positions, block tables and attention tiles of one step
//   swap    = host memory for KV pages of preempted requests, if requested
//   seeded  = weights that the device generates from the seed at load
//   mapped  = the engine file: weights and code, shared with the page cache
//   locked  = on a CPU, memory that --lock locks: weights and all of the above except batch and swap
//
// On a GPU, weights are copied to the device, which also holds arena, KV and batch:
//
//   uploaded = the segments that hold the program's weights
//   staging  = page-locked host memory: two batches, ids and logits, pieces of weights being uploaded
//   reserved = left for code, graphs and heaps that the driver allocates on demand
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Program.h"

#include <optional>
#include <string>

namespace ingot::runtime {

/// Default for the maximum number of positions in a sequence: a larger one costs memory that most
/// runs do not use.
constexpr uint64_t kDefaultContext = 4096;

/// Default for the maximum number of tokens in a step. A GPU is fully used with 2,048: a projection
/// of 4,096 rows then has 256 blocks.
constexpr uint64_t kDefaultBatchTokens = 512, kDefaultGpuBatchTokens = 2048;

/// Provenance key: a one-line description of the sources of the engine's text artefacts.
constexpr char kTextTaken[] = "text";
/// Returns the value of that key; "" for an engine that was built before the key existed.
std::string textTaken(const fb::Engine &engine);

/// Limits chosen at load time.
struct MemoryLimits {
  uint64_t context = 0;        ///< positions per sequence; 0: the model's, but at most the default
  uint64_t maxSeqs = 1;        ///< concurrent sequences
  uint64_t maxBatchTokens = 0; ///< rows of one step; 0: the default of the program's device
  uint64_t logitsRows = 0;     ///< rows of logits of one step; 0: maxSeqs
  uint64_t threads = 1;
  /// --kv-memory: bytes of all KV pages. Without it there are pages for maxSeqs * context positions.
  std::optional<uint64_t> kvBytes = std::nullopt;
  uint64_t swapBytes = 0; ///< host memory for the KV pages of preempted sequences
  uint64_t reserved = 0;  ///< GPU memory left to its driver
  bool lock = false;      ///< lock the CPU's weights and working memory in RAM
};

/// Returns the offset in bytes at which a buffer begins in the arena of its class; the arena holds `limit`
/// units.
uint64_t placeInArena(const fb::Buffer &buffer, const MemoryLimits &limits);

/// States that have their pages allocated together. If separate groups save pages at these limits, a group has the
/// states with one attention window. The first group is the one that keeps the most positions.
struct KvPages {
  uint64_t window = 0; ///< 0: all positions
  uint64_t pages = 0;  ///< in the pool of each of its states
  uint64_t pageBytes = 0;
};

/// For fixed states, the prefix cache keeps one snapshot for every kSnapshotPages pages of a prompt.
constexpr uint64_t kSnapshotPages = 8;
/// Returns the number of slots for snapshots of fixed states. There is one slot for each of `sequences`, and
/// one to write to while all others are held. Drafts and the prefix cache get one more slot for every
/// kSnapshotPages of the `pages` that the cache can keep. These additional slots take at most a quarter of
/// `kvBytes`, the bytes of all pages.
uint64_t slotsFor(uint64_t sequences, uint64_t pages, uint64_t kvBytes, uint64_t slotBytes);

/// Approximate memory of a process beyond its memory plan: code, libraries, allocator tables.
constexpr uint64_t kProgramBytes = uint64_t(10) << 20;

/// The memory plan. All members are in bytes except counts such as `pages` and `pageTokens`.
struct MemoryPlan {
  DeviceKind kind = DeviceKind::Cpu;
  MemoryLimits limits;              ///< with zeros replaced by the defaults
  uint64_t mapped = 0, weights = 0; ///< weights: bytes of the weights in the file
  uint64_t read = 0;                ///< bytes of the weight segments that the program reads
  uint64_t seeded = 0;
  uint64_t arena = 0, kv = 0, scratch = 0, batch = 0;
  uint64_t uploaded = 0, staging = 0; ///< on a GPU
  uint64_t pages = 0, pageTokens = 0; ///< pages: of the first group
  std::vector<KvPages> groups;
  std::vector<uint32_t> groupOf; ///< of each state; groups.size() for fixed states, as in PageMover
  uint64_t slots = 0, slotBytes = 0; ///< for fixed states, if there are any
  uint64_t states = 0;               ///< bytes of all slots

  /// Returns the group of the block table that a launch of the step reads. This is the group of the launch's paged
  /// states, which all have one window. It is the first group if the launch reads no paged state.
  uint32_t groupRead(const fb::Launch &launch, const fb::Step &step) const;

  /// Memory that counts against the device: everything except the mapped file and, on a GPU, host
  /// memory.
  uint64_t taken() const {
    return uploaded + seeded + arena + kv + states + scratch + batch +
           (kind == DeviceKind::Cpu ? limits.swapBytes : 0);
  }
  /// Memory that must be free on the device.
  uint64_t needed() const { return taken() + limits.reserved; }
  /// Anonymous memory, on host and device.
  uint64_t allocated() const {
    return taken() + staging + (kind == DeviceKind::Cpu ? 0 : limits.swapBytes);
  }
  uint64_t total() const { return mapped + allocated(); }
  /// Memory that cannot be reclaimed.
  uint64_t kept() const { return allocated() + (limits.lock ? read : 0); }
  /// Memory that --lock locks, on a CPU.
  uint64_t lockable() const { return read + seeded + arena + kv + states + scratch; }

  /// Returns one line per part, with the arithmetic spelt out, and the sum.
  std::string text() const;
  std::string json() const;
};

/// Errors, exit code 3: E0386 if the sum does not fit 63 bits, E0389 if the KV memory is smaller than one
/// page. `program` is one of the engine's programs.
Result<MemoryPlan> memoryPlan(const EngineFile &engine, const MemoryLimits &limits,
                              const fb::Program &program);
/// Returns the plan of the first program: the CPU's, if there is one.
Result<MemoryPlan> memoryPlan(const EngineFile &engine, const MemoryLimits &limits);

/// Weights are uploaded to a GPU through pieces of page-locked host memory: their number, and the bytes
/// of each.
constexpr uint64_t kUploadPieces = 8, kUploadPiece = uint64_t(4) << 20;

/// "105.3 MiB"
std::string humanBytes(uint64_t bytes);
/// "1,234,567"
std::string grouped(uint64_t number);

/// `ingot inspect E`: model, targets, weights by format, program, memory, provenance, evidence.
std::string inspectText(const EngineFile &engine, const MemoryLimits &limits);
/// `ingot inspect E --json`: the same information, complete, with stable keys.
std::string inspectJson(const EngineFile &engine, const MemoryLimits &limits);
/// `ingot inspect E --html F`: all of that as one self-contained page. `more`: JSON with figures that need
/// more than the engine (tools/ingot/inspect/PageFigures.h); may be empty.
std::string inspectHtml(const EngineFile &engine, const MemoryLimits &limits,
                        std::string_view more = {});
/// Returns the listing of kernels that the compiler stored: JSON (compiler/driver/emit/Listing.h), returned as stored
/// in the file; may be empty.
std::string engineListing(const EngineFile &engine);
/// `ingot inspect E --recipe`: the file for `ingot compile --recipe` that reproduces the engine. Empty if its
/// compiler did not store one.
std::string recipeText(const EngineFile &engine);
/// `ingot inspect E --evidence`: the error of every pass against the interpreter.
std::string evidenceText(const EngineFile &engine);
/// Returns, for --json, {"evidence"}, and {"seed_weights"} if there are any, in the same format as in inspectJson().
std::string evidenceJson(const EngineFile &engine);

} // namespace ingot::runtime
