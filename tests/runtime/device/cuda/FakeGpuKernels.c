/*===- FakeGpuKernels.c - The fake model's kernels for the fake GPU ------------===
 *
 * The model of ../FakeKernels.c with the calling convention of GPU kernels: arguments are
 * passed by address, the batch is last, blocks beyond the batch's counts do nothing, and K
 * is not transposed in a page. Each kernel has the variants that FakeGpuProgram.cpp names.
 * Variants write identical results; the fake driver's record shows which one ran.
 *===----------------------------------------------------------------------===*/
#include "FakeLibcuda.h"

#include <stdint.h>

struct Tile {
  int32_t firstToken, tokens, sequence, firstPosition;
};
struct Share {
  int32_t token, sequence, position, index, of, slot, counter, zero;
};
struct Sampling {
  uint64_t seed;
  double scale, least;
  uint32_t choice;
  int32_t topK;
  float topP;
  uint32_t zero;
};
struct Span {
  int32_t firstToken, tokens, from, firstWrite, writes, zero;
};
struct Write {
  int32_t token, slot;
};
struct Batch {
  int64_t tokens, sequences, rows, tiles;
  const int32_t *ids, *positions, *sequenceOf, *rowTokens;
  const struct Tile *attentionTiles;
  const int32_t *blockTable;
  int64_t blockTableStride;
  const int32_t *earlierIds;
  const struct Sampling *sampling;
  const void *groupTables;
  const struct Share *splits;
  int64_t splitCount, promptTiles;
  const struct Span *stateSpans;
  int64_t spanCount;
  const struct Write *stateWrites;
};
enum { PAGE = 32, HEAD_DIM = 16, MODULUS = 8191, LINE = 16, VOCAB = 97, STRIDE = 128 };

#define KERNEL __attribute__((visibility("default"))) void
#define ARGS void *const *args, const unsigned *grid
#define POINTER(i) (*(void *const *)args[i])
#define BATCH(i) const struct Batch *batch = POINTER(i)

static float *page(void *pool, const struct Batch *batch, int32_t sequence, int64_t position) {
  int64_t number = batch->blockTable[sequence * batch->blockTableStride + position / PAGE];
  return (float *)pool + number * (2 * HEAD_DIM * PAGE);
}

/* A block per token. */
static void embedTokens(ARGS) {
  float *hidden = POINTER(0);
  BATCH(1);
  for (int64_t t = 0; t < grid[0]; ++t)
    if (t < batch->tokens) {
      int32_t id = batch->ids[t];
      hidden[t * LINE] = (float)(id < 0 ? batch->earlierIds[~id] : id);
    }
}
KERNEL embed_4(ARGS) { embedTokens(args, grid); }
KERNEL embed_any(ARGS) { embedTokens(args, grid); }

/* One block. */
KERNEL constants(ARGS) {
  float *out = POINTER(0);
  for (int i = 0; i < 5; ++i)
    out[i] = (float)(i * 11 + 1);
}

/* A block for two tokens. */
KERNEL append(ARGS) {
  const float *hidden = POINTER(0);
  BATCH(2);
  for (int64_t t = 0; t < 2 * (int64_t)grid[0] && t < batch->tokens; ++t) {
    int64_t position = batch->positions[t], slot = position % PAGE;
    float *to = page(POINTER(1), batch, batch->sequenceOf[t], position);
    to[slot * HEAD_DIM + 3] = hidden[t * LINE];
    to[HEAD_DIM * PAGE + slot * HEAD_DIM + 5] = hidden[t * LINE] + (float)(position % 5);
  }
}

static void attendTile(ARGS, struct Tile tile) {
  float *attended = POINTER(0);
  int64_t weight = (int64_t)((const float *)POINTER(2))[7];
  BATCH(3);
  for (int64_t row = 0; row < tile.tokens; ++row) {
    int64_t h = 0;
    for (int64_t q = 0; q <= tile.firstPosition + row; ++q) {
      const float *from = page(POINTER(1), batch, tile.sequence, q);
      int64_t k = (int64_t)from[(q % PAGE) * HEAD_DIM + 3];
      int64_t v = (int64_t)from[HEAD_DIM * PAGE + (q % PAGE) * HEAD_DIM + 5];
      h = (h * 31 + k * 3 + v + q * 7 + weight) % MODULUS;
    }
    attended[(tile.firstToken + row) * LINE] = (float)h;
  }
}
/* A block per tile of a prompt. */
KERNEL attend_prompts(ARGS) {
  BATCH(3);
  for (int64_t i = 0; i < grid[0] && i < batch->promptTiles; ++i)
    attendTile(args, grid, batch->attentionTiles[i]);
}
/* A block per split; the first of a tile does the work. */
KERNEL attend_shares(ARGS) {
  BATCH(3);
  for (int64_t i = 0; i < grid[0] && i < batch->splitCount; ++i) {
    const struct Share share = batch->splits[i];
    if (share.index == 0)
      attendTile(args, grid, (struct Tile){share.token, 1, share.sequence, share.position});
  }
}

/* A block per sequence with tokens. */
KERNEL recur(ARGS) {
  float *hidden = POINTER(0), *slots = POINTER(1);
  BATCH(2);
  for (int64_t i = 0; i < grid[0] && i < batch->spanCount; ++i) {
    const struct Span span = batch->stateSpans[i];
    const struct Write *write = batch->stateWrites + span.firstWrite, *last = write + span.writes;
    int64_t r = span.from < 0 ? 0 : (int64_t)slots[span.from * LINE];
    for (int32_t t = span.firstToken; t < span.firstToken + span.tokens; ++t) {
      int64_t h = (int64_t)hidden[t * LINE];
      r = (r * 29 + h + 11) % MODULUS;
      hidden[t * LINE] = (float)((h + r) % MODULUS);
      if (write < last && write->token == t)
        slots[write++->slot * LINE] = (float)r;
    }
  }
}

KERNEL residual(ARGS) {
  const float *attended = POINTER(0);
  float *hidden = POINTER(1);
  BATCH(2);
  for (int64_t t = 0; t < grid[0] && t < batch->tokens; ++t)
    hidden[t * LINE] = attended[t * LINE];
}

/* The same through tensor maps of both operands, using nothing but the maps' contents. */
KERNEL residual_boxes(ARGS) {
  const struct FakeTensorMap *from = args[3], *to = args[4];
  BATCH(2);
  for (int64_t t = 0; t < grid[0] && t < batch->tokens; ++t)
    if ((uint64_t)t < from->rows && (uint64_t)t < to->rows)
      *(float *)(to->base + t * to->rowBytes) = *(const float *)(from->base + t * from->rowBytes);
}

/* A block per (quarter of the vocabulary, row). */
KERNEL head(ARGS) {
  const float *hidden = POINTER(0), *constant = POINTER(1), *weight = POINTER(2);
  float *logits = POINTER(3);
  BATCH(4);
  int64_t vocab = (int64_t)weight[0], stride = (vocab + 31) / 32 * 32, sum = 0;
  for (int i = 0; i < 5; ++i)
    sum += (int64_t)constant[i];
  for (int64_t row = 0; row < grid[1] && row < batch->rows; ++row) {
    int64_t h = (int64_t)hidden[batch->rowTokens[row] * LINE];
    for (int64_t part = 0; part < grid[0]; ++part)
      for (int64_t v = vocab * part / 4; v < vocab * (part + 1) / 4; ++v)
        logits[row * stride + v] = (float)((h * (v + 3) + v * v * 7 + sum) % 1009) / 64.0f;
  }
}

/* A block per row. The key is the id of the largest logit plus one; keys must be 0 before. */
KERNEL argmax(ARGS) {
  const float *logits = POINTER(0);
  uint64_t *keys = POINTER(1);
  BATCH(2);
  for (int64_t row = 0; row < grid[0] && row < batch->rows; ++row) {
    uint64_t best = 0;
    for (uint64_t v = 1; v < VOCAB; ++v)
      if (logits[row * STRIDE + v] > logits[row * STRIDE + best])
        best = v;
    keys[row] += best + 1;
  }
}

KERNEL argmax_finish(ARGS) {
  uint64_t *keys = POINTER(0);
  int32_t *ids = POINTER(1);
  BATCH(2);
  for (int64_t row = 0; row < grid[0] && row < batch->rows; ++row) {
    ids[row] = (int32_t)keys[row] - 1;
    keys[row] = 0;
  }
}

/* Same formula as fakeDraw in FakeGpuProgram.cpp. */
KERNEL draw_ids(ARGS) {
  uint64_t *keys = POINTER(0);
  int32_t *ids = POINTER(1);
  BATCH(2);
  for (int64_t row = 0; row < grid[0] && row < batch->rows; ++row) {
    const struct Sampling how = batch->sampling[row];
    ids[row] = (int32_t)keys[row] - 1;
    keys[row] = 0;
    if (how.scale == 0.0)
      continue;
    const double told = (double)(how.seed * 7 + how.choice * 3) + how.scale * 16 - how.least * 8 +
                        how.topK + (double)how.topP * 64;
    const int64_t position = batch->positions[batch->rowTokens[row]] + 1;
    ids[row] = (int32_t)((ids[row] + (int64_t)told + position * 5) % VOCAB);
  }
}
