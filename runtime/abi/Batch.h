//===- Batch.h - What one step works on: a ragged batch -------------------===//
//
// The scheduler builds it, an executor runs the program over it, kernels of every device
// read it at these offsets. Rows of one step, of three sequences:
//
//   row         0   1   2   3   4   5   6        A decodes, B begins its prompt, C goes on
//   sequence    A   B   B   B   B   C   C
//   position   17   0   1   2   3  64  65
//   tiles      [A] [B . . .       ] [C . ]       at most kAttentionTile rows each
//
// Memory belongs to whoever built the batch. On a GPU the batch and what it points to are
// copied to the device for each step; the pointers there are device addresses. New fields go
// last: engines hold kernels that know the older ones.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot {

constexpr int64_t kPageTokens = 32;    ///< positions per KV page
constexpr int64_t kAttentionTile = 16; ///< most query tokens of one attention tile
constexpr int64_t kGreedyRows = 64;    ///< most logits rows of a greedy step on a CPU
constexpr int64_t kMostShares = 1024;  ///< of a GPU's attention, beyond one a tile

/// Up to kAttentionTile consecutive tokens of one sequence.
struct AttentionTile {
  int32_t firstToken; ///< row of the batch
  int32_t tokens;
  int32_t sequence;      ///< row of the block table
  int32_t firstPosition; ///< absolute position of firstToken
};

/// On GPUs: what one block, for each KV head, takes of a tile that decodes. Of the n runs (256
/// positions at fixed places, codegen/cuda/device/attention.cuh) that a layer lets the token see:
/// number index, index + of, index + 2 of, …; where `of` is more than n, n stands for it. A step's
/// shares are dealt by cuda/AttentionShares.h.
struct AttentionShare {
  int32_t token;    ///< row of the batch
  int32_t sequence; ///< row of the block table
  int32_t position; ///< absolute; earlier steps have written all positions before it
  int32_t index, of;
  // Of a tile that several share, in the workspace of the kernel:
  int32_t slot;    ///< of its first run; the others' follow
  int32_t counter; ///< of the blocks that are done
  int32_t zero;
};

/// How the id that follows a logits row is drawn by a device (sample/SamplingParams.h has the
/// filters and their order). The random number is Philox's for (seed, choice, position of the new
/// token).
struct RowSampling {
  uint64_t seed;   // 0
  double scale;    // 8   1 / temperature; 0: the id of the largest logit, and the rest is nothing
  double least;    // 16  min-p: drops ids with (logit - largest) * scale below it
  uint32_t choice; // 24
  int32_t topK;    // 28  0: all
  float topP;      // 32  1: all
  uint32_t zero;   // 36
};

/// What a sequence with tokens in the step does with its fixed states: reads the version in slot `from` and
/// writes versions behind some of its tokens. Slots are those of all fixed states alike.
struct StateSpan {
  int32_t firstToken, tokens; ///< rows of the batch
  int32_t from;               ///< slot; -1: it begins with zeros
  int32_t firstWrite, writes; ///< of BatchView::stateWrites, rising in token
  int32_t zero;
};
/// A version that a step writes. Its slot may be the one that its own span reads, of no other.
struct StateWrite {
  int32_t token; ///< row of the batch: the version is the one behind it
  int32_t slot;
};

/// What one step works on.
struct BatchView {
  int64_t tokens;                      // 0   T: rows of activations
  int64_t sequences;                   // 8
  int64_t rows;                        // 16  R: rows of logits
  int64_t tiles;                       // 24
  const int32_t *ids;                  // 32  [T] token ids; ~r: the one in earlierIds[r]
  const int32_t *positions;            // 40  [T] absolute position in the sequence
  const int32_t *sequenceOf;           // 48  [T] row of the block table
  const int32_t *rowTokens;            // 56  [R] token of each logits row
  const AttentionTile *attentionTiles; // 64  [tiles]
  const int32_t *blockTable;           // 72  [sequences][blockTableStride] page numbers
  int64_t blockTableStride;            // 80
  // Ids that the step before found, by its logits rows. Set by executors that run ahead
  // (Executor.h); for others all ids are known.
  const int32_t *earlierIds; // 88
  // For executors that draw (Executor.h): null where every row wants the id of its largest logit,
  // or its logits.
  const RowSampling *sampling; // 96  [R]
  // For executors whose KV slots come in groups (engine/Inspect.h): the block table of each, with
  // one stride; blockTable is the first's. Kernels get their own slot's as blockTable.
  const int32_t *const *groupTables = nullptr; // 104
  // For GPUs, set by their executor. The first promptTiles of the attention tiles (which it orders)
  // are those of prompts, the others decode: one token, the first of its sequence in the step.
  const AttentionShare *shares = nullptr; // 112 [shareCount] of the tiles that decode
  int64_t shareCount = 0;                 // 120
  int64_t promptTiles = 0;                // 128
  // For kernels of fixed states: one for each sequence that has tokens here, in order of its tokens. Null where the
  // engine has none.
  const StateSpan *stateSpans = nullptr;   // 136 [spanCount]
  int64_t spanCount = 0;                   // 144
  const StateWrite *stateWrites = nullptr; // 152
};
static_assert(offsetof(BatchView, ids) == 32 && offsetof(BatchView, rowTokens) == 56 &&
              offsetof(BatchView, earlierIds) == 88 && offsetof(BatchView, sampling) == 96 &&
              offsetof(BatchView, groupTables) == 104 && offsetof(BatchView, shares) == 112 &&
              offsetof(BatchView, stateSpans) == 136 && offsetof(BatchView, spanCount) == 144 &&
              offsetof(BatchView, stateWrites) == 152 && sizeof(BatchView) == 160 &&
              sizeof(StateSpan) == 24 && sizeof(StateWrite) == 8 && sizeof(AttentionTile) == 16 &&
              sizeof(AttentionShare) == 32 && offsetof(RowSampling, least) == 16 &&
              offsetof(RowSampling, topK) == 28 && sizeof(RowSampling) == 40);

} // namespace ingot
