//===- Batch.h - The ragged batch of one step -----------------------------===//
//
// The scheduler builds the batch, an executor runs the program over it, and kernels of every
// device read it at these offsets. Example: the rows of one step with three sequences:
//
//   row         0   1   2   3   4   5   6        A decodes, B begins its prompt, C continues
//   sequence    A   B   B   B   B   C   C
//   position   17   0   1   2   3  64  65
//   tiles      [A] [B . . .       ] [C . ]       at most kAttentionTile rows each
//
// The builder of the batch owns the memory. For a GPU, the batch and the arrays that it points to
// are copied to the device for each step; the pointers in the copy are device addresses. New fields
// go last, because engines hold kernels that were compiled with the older fields.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot {

constexpr int64_t kPageTokens = 32;    ///< positions per KV page
constexpr int64_t kAttentionTile = 16; ///< maximum query tokens of one attention tile
constexpr int64_t kGreedyRows = 64;    ///< maximum logits rows of a greedy step on a CPU
constexpr int64_t kMostSplits = 1024;  ///< maximum splits of a GPU's attention beyond one per tile

/// Up to kAttentionTile consecutive tokens of one sequence.
struct AttentionTile {
  int32_t firstToken; ///< row of the batch
  int32_t tokens;
  int32_t sequence;      ///< row of the block table
  int32_t firstPosition; ///< absolute position of firstToken
};

/// The part of a decode tile that one block of a GPU processes for each KV head. In a layer, the token may
/// see n KV chunks (256 positions at fixed places, codegen/cuda/device/attention.cuh). The split covers the
/// chunks index, index + of, index + 2 of, …; if `of` exceeds n, n is used instead.
/// cuda/AttentionSplits.h assigns the splits of a step.
struct AttentionSplit {
  int32_t token;    ///< row of the batch
  int32_t sequence; ///< row of the block table
  int32_t position; ///< absolute; earlier steps have written all positions before it
  int32_t index, of;
  // If several blocks split a tile, in the workspace of the kernel:
  int32_t slot;    ///< slot of the tile's first KV chunk; its other chunks take the slots after it
  int32_t counter; ///< index of the counter of finished blocks
  int32_t zero;
};

/// The parameters with which a device samples the token that follows a logits row
/// (sample/SamplingParams.h has the filters and their order). The random number is the output of Philox for
/// (seed, choice, position of the new token).
struct RowSampling {
  uint64_t seed;   // 0
  double scale;    // 8   1 / temperature; 0: the id of the largest logit, other fields are ignored
  double least;    // 16  min-p: drops tokens with (logit - largest) * scale below it
  uint32_t choice; // 24
  int32_t topK;    // 28  0: all
  float topP;      // 32  1: all
  uint32_t zero;   // 36
};

/// Describes how a sequence with tokens in the step uses its fixed states: it reads the snapshot in slot `from` and
/// writes snapshots after some of its tokens. Slot numbers are the same for all fixed states.
struct StateSpan {
  int32_t firstToken, tokens; ///< rows of the batch
  int32_t from;               ///< slot; -1: the state begins as zeros
  int32_t firstWrite, writes; ///< range of BatchView::stateWrites, ascending in token
  int32_t zero;
};
/// A snapshot that a step writes. The slot may be the one that its own span reads, but never one that another
/// span reads.
struct StateWrite {
  int32_t token; ///< row of the batch; the snapshot is the state after this token
  int32_t slot;
};

/// The batch of one step.
struct BatchView {
  int64_t tokens;                      // 0   T: rows of activations
  int64_t sequences;                   // 8
  int64_t rows;                        // 16  R: rows of logits
  int64_t tiles;                       // 24
  const int32_t *ids;                  // 32  [T] token ids; ~r stands for earlierIds[r]
  const int32_t *positions;            // 40  [T] absolute position in the sequence
  const int32_t *sequenceOf;           // 48  [T] row of the block table
  const int32_t *rowTokens;            // 56  [R] token of each logits row
  const AttentionTile *attentionTiles; // 64  [tiles]
  const int32_t *blockTable;           // 72  [sequences][blockTableStride] page numbers
  int64_t blockTableStride;            // 80
  // Tokens that the previous step found, indexed by its logits rows. Executors that run ahead (Executor.h) set
  // this pointer; for others all tokens are known.
  const int32_t *earlierIds; // 88
  // For executors that sample on the device (Executor.h). Null if the step's result is the token of each row's
  // largest logit, or the logits themselves.
  const RowSampling *sampling; // 96  [R]
  // For executors with several groups of KV slots (engine/Inspect.h): the block table of each group. All tables have
  // the same stride. `blockTable` is the table of the first group. A kernel gets a view in which `blockTable` is the
  // table of its slot's group.
  const int32_t *const *groupTables = nullptr; // 104
  // For GPUs, set by their executor, which orders the attention tiles: the first promptTiles belong to
  // prompts, the others decode (one token, the first of its sequence in the step).
  const AttentionSplit *splits = nullptr; // 112 [splitCount] for the decode tiles
  int64_t splitCount = 0;                 // 120
  int64_t promptTiles = 0;                // 128
  // For kernels of fixed states: one span for each sequence that has tokens in the step, in order of the tokens.
  // Null if the engine has no fixed states.
  const StateSpan *stateSpans = nullptr;   // 136 [spanCount]
  int64_t spanCount = 0;                   // 144
  const StateWrite *stateWrites = nullptr; // 152
};
static_assert(offsetof(BatchView, ids) == 32 && offsetof(BatchView, rowTokens) == 56 &&
              offsetof(BatchView, earlierIds) == 88 && offsetof(BatchView, sampling) == 96 &&
              offsetof(BatchView, groupTables) == 104 && offsetof(BatchView, splits) == 112 &&
              offsetof(BatchView, stateSpans) == 136 && offsetof(BatchView, spanCount) == 144 &&
              offsetof(BatchView, stateWrites) == 152 && sizeof(BatchView) == 160 &&
              sizeof(StateSpan) == 24 && sizeof(StateWrite) == 8 && sizeof(AttentionTile) == 16 &&
              sizeof(AttentionSplit) == 32 && offsetof(RowSampling, least) == 16 &&
              offsetof(RowSampling, topK) == 28 && sizeof(RowSampling) == 40);

} // namespace ingot
